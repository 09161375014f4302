// The place where vendors lay finished files: links on an origin of its own, which anyone may follow who has them.
import { sent, spoil, type MediaFile } from '../made/file.ts'
import { id } from '../../delivery/plan.ts'
import type { Answer } from '../../delivery/deliver.ts'
import { serve, type Call } from '../../server.ts'
import type { Making, Vendor } from '../../vendor.ts'

/** What a link names: what a download meets is `asked`, and `key` must stand in the link where it is said. */
type Laid = { file: MediaFile; expired: boolean; key: string | undefined; making: Making }

export type Links = {
  vendor: Vendor
  /** A link to this file, spoiled, expired or with a key in it when the script says so. */
  lay(file: MediaFile, making: Making | undefined, key: string): string
  /** From now on the links that were given out are too old. */
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
  const laid = new Map<string, Laid>()
  const vendor = await serve({
    key: '',
    answer: (call) => answer(laid.get(call.path), call),
    failure: ({ status, message }) => ({ status, body: message ?? 'Internal error', headers: {} }),
    headers: () => ({ server: 'loopback-files' }),
  })
  return {
    vendor,
    lay: (file, making = {}, key) => {
      const path = `/files/${id('', 20)}.${extensions[file.type] ?? 'bin'}`
      const keyed = making.link?.keyed === true
      const expired = making.link?.expired === true
      laid.set(path, { file: spoil(file, making.spoiled), expired, key: keyed ? key : undefined, making })
      return `${vendor.origin}${path}?se=${Date.now() + 600_000}&sig=${id('', 12)}${keyed ? `&key=${key}` : ''}`
    },
    expire: () => laid.forEach((one) => (one.expired = true)),
  }
}

/** Read with GET only; what stores of objects say is XML. */
function answer(laid: Laid | undefined, call: Call): Answer {
  if (call.method !== 'GET') return said(405, 'MethodNotAllowed', 'The specified method is not allowed.')
  if (!laid) return said(404, 'BlobNotFound', 'The specified blob does not exist.')
  const { searchParams } = { searchParams: call.request.query }
  if (laid.expired || !searchParams.has('sig')) {
    return said(403, 'AuthenticationFailed', 'Server failed to authenticate the request. Signature not valid: expired.')
  }
  if (laid.key !== undefined && searchParams.get('key') !== laid.key) return said(403, 'AccessDenied', 'No key.')
  call.behaviour = { ...laid.making.link?.asked, ...call.behaviour }
  return sent(laid.file)
}

function said(status: number, code: string, message: string): Answer {
  const body = `<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`
  return { status, body, headers: { 'content-type': 'application/xml' } }
}
