import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import type { Upload } from '#core/context.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { SenderGone } from './sender-gone.ts'
import { partNameIn } from './part-name.ts'

const MAX_FIELDS = 32
const MAX_FIELD_BYTES = 65_536
const SILENT_MS = 120_000

export interface Multipart {
  fields: Record<string, string>
  upload: Upload | null
}

export const isMultipart = ({ 'content-type': type = '' }: IncomingHttpHeaders): boolean =>
  /^multipart\/form-data\b/i.test(type)

/**
 * Reads a form (RFC 7578) up to its `file` part, whose bytes the caller then consumes at its own pace. They end in an
 * error if the sender leaves early or anything follows them, so half a file is never taken for a whole one.
 */
export function readMultipart(request: IncomingMessage, parts?: readonly string[]): Promise<Multipart> {
  if (parts !== undefined) return readParts(request, parts)
  const form = formOf(request, ['file'])
  const fields: Record<string, string> = {}
  let upload: Upload | null = null
  const whole = Promise.withResolvers<void>()
  whole.promise.catch(() => {})
  watchSender(request, whole.reject)
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      whole.reject(error)
      reject(error)
    }
    form.on('field', (rawName, value, nameCut, valueCut) => {
      const name = decodeName(rawName)
      if (upload !== null) return fail(invalid(name, `\`${name}\` must come before the part \`file\`.`))
      if (nameCut || valueCut) return fail(invalid(name, `\`${name}\` can have up to ${MAX_FIELD_BYTES} bytes.`))
      if (Object.hasOwn(fields, name)) return fail(invalid(name, `\`${name}\` was sent twice.`))
      fields[name] = value
    })
    form.on('file', (part, stream, name, _, mimeType) => {
      stream.on('error', fail)
      if (upload !== null) {
        stream.resume()
        return fail(invalid(part, 'Send the file exactly once, as the part `file`.'))
      }
      const decodedName = fileName(name)
      if (decodedName === undefined) {
        stream.resume()
        return fail(notUtf8(part))
      }
      upload = {
        name: decodedName,
        mimeType: mimeType || null,
        size: null,
        part: 'file',
        bytes: bytesOf(stream, whole.promise),
      }
      resolve({ fields, upload })
    })
    form.on('fieldsLimit', () => fail(invalid('file', `A form can have up to ${MAX_FIELDS} fields.`)))
    form.on('finish', () => {
      whole.resolve()
      resolve({ fields, upload })
    })
    form.on('error', () => fail(invalid('file', 'The body isn’t a valid multipart form.')))
    whole.promise.catch(reject)
    request.pipe(form)
  })
}

/** More than the images of any one call; endpoints set stricter limits. */
const MAX_PARTS = 64

/** The same for forms with several binary parts. Each part arrives after the previous part is read. */
function readParts(request: IncomingMessage, parts: readonly string[]): Promise<Multipart> {
  const form = formOf(request, parts, MAX_PARTS)
  const fields: Record<string, string> = {}
  const waiting: Upload[] = []
  let hasStarted = false
  let over = false
  let failure: unknown = null
  let wake = (): void => {}
  const interruption = Promise.withResolvers<void>()
  interruption.promise.catch(() => {})
  const fail = (error: unknown): void => {
    failure ??= error
    interruption.reject(error)
    wake()
  }
  watchSender(request, fail)
  const next = async (): Promise<Upload | null> => {
    for (;;) {
      const upload = waiting.shift()
      if (upload !== undefined) return upload
      if (failure !== null) throw failure
      if (over) return null
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  form.on('field', (rawName, value, nameCut, valueCut) => {
    const name = decodeName(rawName)
    if (hasStarted) return fail(invalid(name, `\`${name}\` must come before the file parts.`))
    if (nameCut || valueCut) return fail(invalid(name, `\`${name}\` can have up to ${MAX_FIELD_BYTES} bytes.`))
    if (Object.hasOwn(fields, name)) return fail(invalid(name, `\`${name}\` was sent twice.`))
    fields[name] = value
  })
  form.on('file', (part, stream, name, _, mimeType) => {
    hasStarted = true
    stream.on('error', fail)
    // A part is complete at its end. A malformed form is reported to the reader of the next part.
    const bytes = bytesOf(stream, Promise.race([interruption.promise, Promise.resolve()]), { alone: false })
    const decodedName = fileName(name)
    if (decodedName === undefined) {
      stream.resume()
      return fail(notUtf8(part))
    }
    waiting.push({ name: decodedName, mimeType: mimeType || null, size: null, part, bytes, next })
    wake()
  })
  form.on('fieldsLimit', () => fail(invalid(parts[0]!, `A form can have up to ${MAX_FIELDS} fields.`)))
  form.on('filesLimit', () => fail(invalid(parts[0]!, `A form can have up to ${MAX_PARTS} files.`)))
  form.on('error', () => fail(invalid(parts[0]!, 'The body isn’t a valid multipart form.')))
  form.on('finish', () => {
    over = true
    wake()
  })
  request.pipe(form)
  return next().then((upload) => ({ fields, upload }))
}

/**
 * Decodes a form name as browsers encode it: quotes as `%22`, CR as `%0D`, LF as `%0A`, and `%` unchanged (HTML,
 * multipart/form-data encoding).
 */
const decodeName = (name: string): string => name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')

/** The file name without folders sent by the browser. Undefined if unreadable. */
function fileName(packedName: string | undefined): string | null | undefined {
  if (packedName === undefined || packedName === '') return null
  const name = partNameIn(Buffer.from(packedName, 'hex').toString('latin1'))
  return name && (name.slice(name.lastIndexOf('/') + 1) || null)
}

const notUtf8 = (part: string): Refusal =>
  invalid(part, `The file name of the part \`${part}\` must be UTF-8, or be sent as \`filename*\` (RFC 8187).`)

interface PartEvents {
  on(
    name: 'part',
    hear: (part: { prependListener(name: 'header', hear: (head: PartHead) => void): void }) => void,
  ): void
}
type PartHead = Record<string, string[] | undefined>

/**
 * Passes the whole `Content-Disposition` through the form parser as a hex file name, because the parser removes
 * backslashes and truncates names at quotes.
 */
function keepFileNames(form: BusboyInstance): BusboyInstance {
  const { parser } = (form as unknown as { _parser: { parser: PartEvents } })._parser
  parser.on('part', (part) =>
    part.prependListener('header', (head) => {
      const disposition = head['content-disposition']?.[0]
      if (disposition === undefined || !/^form-data[ \t]*;.*?filename\*?[ \t]*=/is.test(disposition)) return
      const name = /;[ \t]*name[ \t]*=[ \t]*("[^"]*"|[^;" \t]*)/i.exec(disposition)?.[1] ?? '""'
      const hex = Buffer.from(disposition, 'latin1').toString('hex')
      head['content-disposition'] = [`form-data; name=${name}; filename="${hex}"`]
    }),
  )
  return form
}

function formOf(request: IncomingMessage, files: readonly string[], most = 2): BusboyInstance {
  try {
    return keepFileNames(
      new Busboy({
        headers: request.headers as IncomingHttpHeaders & { 'content-type': string },
        // Keeps names as sent: on most systems a backslash is part of a name.
        preservePath: true,
        isPartAFile: (name) => name !== undefined && files.includes(name),
        // Large enough that senders rarely have to pause.
        fileHwm: 1 << 20,
        highWaterMark: 1 << 18,
        limits: {
          fields: MAX_FIELDS,
          fieldSize: MAX_FIELD_BYTES,
          files: most,
          parts: MAX_FIELDS + most,
          headerPairs: 100,
        },
      }),
    )
  } catch {
    return refuse('invalid_parameter', { message: '`Content-Type: multipart/form-data` requires a `boundary`.' })
  }
}

const WAITING_BYTES = 1 << 20

/**
 * Yields a stream's chunks as they arrived; each is valid until the next is requested. (Async iteration would join
 * waiting chunks, copying every byte.) A buffer is freed when another starts, unless it isn't `alone` and contains
 * later parts. Ends with the error of `whole`.
 */
async function* bytesOf(
  stream: Readable,
  whole: Promise<void>,
  { alone = true }: { alone?: boolean } = {},
): AsyncGenerator<Uint8Array> {
  let waiting: Buffer[] = []
  let size = 0
  let hasEnded = false
  let failure: unknown = null
  let lastBuffer: ArrayBufferLike | null = null
  let wake = (): void => {}
  const fail = (error: unknown) => {
    failure ??= error
    wake()
  }
  whole.catch(fail)
  stream.on('error', fail)
  stream.on('end', () => {
    hasEnded = true
    wake()
  })
  const take = (part: Buffer): void => {
    waiting.push(part)
    size += part.length
    if (size > WAITING_BYTES) stream.pause()
    wake()
  }
  stream.on('data', take)
  try {
    for (;;) {
      const parts = waiting
      waiting = []
      if (parts.length > 0) {
        size = 0
        stream.resume()
      }
      for (const part of parts) {
        if (alone && part.buffer !== lastBuffer) free(lastBuffer)
        lastBuffer = part.buffer
        yield part
      }
      if (waiting.length > 0) continue
      if (failure !== null) throw failure
      if (hasEnded) return await whole
      await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    if (alone) free(lastBuffer)
    // Neither destroyed nor paused: the response and the next request use the same connection.
    stream.off('data', take).resume()
  }
}

/** Smaller buffers are shared: Node's pool, and the form parser's boundary buffers. */
const FREED_BYTES = 16_384

/**
 * Frees the memory of consumed bytes. Left to the garbage collector, 64 MB accumulate before each full collection: with
 * a 1 GB heap, that would run every tenth of a second.
 */
function free(buffer: ArrayBufferLike | null): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= FREED_BYTES && !buffer.detached) buffer.transfer(0)
}

export function readRaw(request: IncomingMessage): Upload {
  const whole = Promise.withResolvers<void>()
  whole.promise.catch(() => {})
  watchSender(request, whole.reject)
  request.once('end', () => whole.resolve())
  const {
    'content-type': mimeType = null,
    'content-length': length,
    'content-encoding': coding = null,
  } = request.headers
  const size = length === undefined ? null : Number(length)
  return { name: null, mimeType, coding, size, part: null, bytes: bytesOf(request, whole.promise) }
}

function watchSender(request: IncomingMessage, onLeave: (error: Error) => void): void {
  const onClose = () => {
    request.setTimeout(0)
    if (!request.complete) onLeave(new SenderGone())
  }
  request
    .once('close', onClose)
    .once('error', onClose)
    .once('end', () => request.setTimeout(0))
  request.setTimeout(SILENT_MS, () => request.destroy())
}

const invalid = (param: string, message: string): Refusal => new Refusal('invalid_parameter', { param, message })
