/**
 * The sandboxed process that makes thumbnails of untrusted images. It has no keys and may not write files or start
 * programs.
 */
import type { PictureRequest, PictureResult } from './maker.ts'
import { shorten } from '#core/text/shorten.ts'

const MAX_PIXELS = 100_000_000
/** Decoded-size limits: a minimum for any image, a factor of the file size, and a maximum. */
const PLAIN = 64 << 20
const EACH = 100
const MAX = 400 << 20

process.on('message', (drawing: PictureRequest) => void answer(drawing))
process.on('disconnect', () => process.exit(0))

async function answer({ bytes, pixels }: PictureRequest): Promise<void> {
  process.send!(
    await draw(bytes, pixels).catch((error: unknown): PictureResult => ({ none: shorten(String(error), 300) })),
  )
}

async function draw(bytes: Uint8Array, pixels: number): Promise<PictureResult> {
  const sharpModule = await import('sharp').catch(() => null)
  if (sharpModule === null) return { missing: true }
  const sharp = sharpModule.default
  sharp.concurrency(1)
  sharp.cache(false)
  const picture = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'none' })
  const { width, height, channels, depth } = await picture.metadata()
  const decodedBytes = width * height * channels * (depth === undefined ? 1 : (sizes[depth] ?? 8))
  if (decodedBytes > Math.min(MAX, PLAIN + EACH * bytes.length))
    return { none: `${width} × ${height} in ${bytes.length} bytes` }
  const small = await picture
    .rotate()
    .resize({ width: pixels, height: pixels, fit: 'inside', withoutEnlargement: true })
    .webp({ quality: 80 })
    .toBuffer()
  return { bytes: small }
}

const sizes: Readonly<Record<string, number>> = { uchar: 1, char: 1, ushort: 2, short: 2, uint: 4, int: 4, float: 4 }
