// Where vendors store finished files: links on a separate origin, open to anyone who has them.
import { wholeOf, spoil, type MediaFile } from '../made/file.ts'
import { id } from '../../delivery/plan.ts'
import type { Answer } from '../../delivery/deliver.ts'
import { serve, type Call } from '../../server.ts'
import type { Making, Vendor } from '../../vendor.ts'

/** What a link names: a download runs the script's `asked`, and `key`, if set, must be part of the link. */
type StoredFile = { file: MediaFile; expired: boolean; key: string | undefined; making: Making }

export type Links = {
  vendor: Vendor
  /** A link to this file; damaged, expired, or with a key, according to the script. */
  lay(file: MediaFile, making: Making | undefined, key: string): string
  /** Expires all links so far. */
  expire(): void
}

const extensions: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'video/mp4': 'mp4',
}

export async function startLinks(): Promise<Links> {
  const files = new Map<string, StoredFile>()
  const vendor = await serve({
    key: '',
    answer: (call) => answer(files.get(call.path), call),
    failure: ({ status, message }) => ({ status, body: message ?? 'Internal error', headers: {} }),
    headers: () => ({ server: 'loopback-files' }),
  })
  return {
    vendor,
    lay: (file, making = {}, key) => {
      const path = `/files/${id('', 20)}.${extensions[file.type] ?? 'bin'}`
      const hasKey = making.link?.keyed === true
      const isExpired = making.link?.expired === true
      files.set(path, { file: spoil(file, making.spoiled), expired: isExpired, key: hasKey ? key : undefined, making })
      return `${vendor.origin}${path}?se=${Date.now() + 600_000}&sig=${id('', 12)}${hasKey ? `&key=${key}` : ''}`
    },
    expire: () => files.forEach((one) => (one.expired = true)),
  }
}

/** Only GET; object stores answer errors in XML. */
function answer(file: StoredFile | undefined, call: Call): Answer {
  if (call.method !== 'GET') return xmlError(405, 'MethodNotAllowed', 'The specified method is not allowed.')
  if (!file) return xmlError(404, 'BlobNotFound', 'The specified blob does not exist.')
  const { searchParams } = { searchParams: call.request.query }
  if (file.expired || !searchParams.has('sig')) {
    return xmlError(
      403,
      'AuthenticationFailed',
      'Server failed to authenticate the request. Signature not valid: expired.',
    )
  }
  if (file.key !== undefined && searchParams.get('key') !== file.key) return xmlError(403, 'AccessDenied', 'No key.')
  call.behaviour = { ...file.making.link?.asked, ...call.behaviour }
  return wholeOf(file.file)
}

function xmlError(status: number, code: string, message: string): Answer {
  const body = `<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`
  return { status, body, headers: { 'content-type': 'application/xml' } }
}
