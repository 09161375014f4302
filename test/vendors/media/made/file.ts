// A file as a vendor sends it, and the ways to damage it.
import type { Whole } from '../../delivery/deliver.ts'
import type { Damage } from '../../vendor.ts'

/** `type`: its media type. */
export type MediaFile = { bytes: Buffer; type: string }

export function spoil(file: MediaFile, damage: Damage | undefined): MediaFile {
  if (damage === 'empty') return { ...file, bytes: Buffer.alloc(0) }
  if (damage === 'cut') return { ...file, bytes: file.bytes.subarray(0, file.bytes.length >> 1) }
  if (damage === 'web page') {
    const page = '<!doctype html><html><head><title>One moment</title></head><body>Checking your browser</body></html>'
    return { bytes: Buffer.from(page), type: 'text/html' }
  }
  if (damage === 'json') return { bytes: Buffer.from('{"detail":"not ready"}'), type: 'application/json' }
  return file
}

/** `pieceBytes`: sent while it is generated, without a length. */
export function wholeOf({ bytes, type }: MediaFile, pieceBytes?: number): Whole {
  return { status: 200, body: bytes, headers: { 'content-type': type }, pieceBytes }
}
