import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib'
import { refuse } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'

type Decode = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

/** `deflate` means a zlib stream (RFC 9110, 8.4.1.2), but many senders omit the zlib wrapper. */
const inflateEither: Decode = (bytes, options) =>
  ((bytes[0] ?? 0) & 0x0f) === 8 && (((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)) % 31 === 0
    ? promisify(inflate)(bytes, options)
    : promisify(inflateRaw)(bytes, options)

const CODINGS: Readonly<Record<string, Decode>> = {
  gzip: promisify(gunzip) as Decode,
  'x-gzip': promisify(gunzip) as Decode,
  deflate: inflateEither,
  br: promisify(brotliDecompress) as Decode,
  zstd: promisify(zstdDecompress) as Decode,
}
const ACCEPTED = 'gzip, deflate, br, zstd'
/** Each nested coding multiplies the possible expansion. */
const MAX_CODINGS = 2

export interface Body {
  bytes: Buffer
  coding: string | null
  type: string | null
}

/** Decodes a body by its headers or refuses it. `most`: decoded bytes. */
export async function readText({ bytes, coding, type }: Body, most: number): Promise<string> {
  return textOf(await decodeBody(bytes, coding, most), type)
}

async function decodeBody(bytes: Buffer, coding: string | null, most: number): Promise<Buffer> {
  const codings = (coding ?? '')
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => one !== '' && one !== 'identity')
  const unknown = codings.find((one) => !Object.hasOwn(CODINGS, one))
  if (unknown !== undefined || codings.length > MAX_CODINGS)
    refuse('unsupported_media_type', {
      message: `The \`Content-Encoding\` of a webhook must be one of ${ACCEPTED}, or absent.`,
      details: { accepted: ACCEPTED.split(', ') },
      headers: { 'accept-encoding': ACCEPTED },
    })
  let plain = bytes
  for (const one of codings.toReversed())
    plain = await CODINGS[one]!(plain, { maxOutputLength: most }).catch((error: NodeJS.ErrnoException) =>
      error.code === 'ERR_BUFFER_TOO_LARGE'
        ? refuse('payload_too_large', {
            message: `A decoded webhook body can have up to ${most} bytes.`,
            details: { limit_bytes: most },
          })
        : refuse('invalid_parameter', { message: `The body isn’t \`${one}\`, which its \`Content-Encoding\` names.` }),
    )
  return plain
}

function textOf(bytes: Buffer, type: string | null): string {
  const charsetMatch = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]+))/i.exec(type ?? '')
  const charset = markOf(bytes) ?? charsetMatch?.[1] ?? charsetMatch?.[2] ?? 'utf-8'
  const decoder = decoderOf(charset)
  if (decoder === null)
    return refuse('unsupported_media_type', {
      message: `The charset \`${shorten(charset, 40).toWellFormed()}\` isn’t known. Send the body as UTF-8.`,
      details: { accepted: ['utf-8'] },
    })
  try {
    return decoder.decode(bytes)
  } catch {
    return refuse('unsupported_media_type', {
      message: `The body isn’t ${decoder.encoding === 'utf-8' ? 'UTF-8' : `\`${decoder.encoding}\``}. Name its charset, as in \`Content-Type: application/json; charset=iso-8859-1\`.`,
      details: { accepted: ['utf-8'] },
    })
  }
}

/** A byte order mark overrides the header. */
const markOf = (bytes: Buffer): string | null =>
  bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null

function decoderOf(charset: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(charset, { fatal: true })
  } catch {
    return null
  }
}
