// Valid images of any size, each with one color derived from its prompt.
import { createHash } from 'node:crypto'
import sharp from 'sharp'
import type { MediaFile } from './file.ts'

export type PictureFormat = 'png' | 'jpeg' | 'webp'
export type Size = { width: number; height: number }

/** `size`: `WxH`. `transparent`: fully transparent; not for JPEG. */
export async function picture(
  size: string,
  {
    format = 'png',
    words = '',
    transparent = false,
  }: { format?: PictureFormat; words?: string; transparent?: boolean } = {},
): Promise<MediaFile> {
  const [r = 0, g = 0, b = 0] = createHash('sha256').update(words).digest()
  const background = transparent ? { r, g, b, alpha: 0 } : { r, g, b }
  const image = sharp({ create: { ...sizeOf(size), channels: transparent ? 4 : 3, background } })
  return { bytes: await image.toFormat(format).toBuffer(), type: `image/${format}` }
}

export function sizeOf(size: string): Size {
  const [width, height] = /^(\d+)x(\d+)$/.exec(size)?.slice(1).map(Number) ?? []
  if (width === undefined || height === undefined) throw new Error(`"${size}" is not a size such as 640x480.`)
  return { width, height }
}

/** Detects the format by the first bytes. */
export function formatOf(bytes: Buffer): PictureFormat | undefined {
  if (bytes.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n') return 'png'
  if (bytes.subarray(0, 3).toString('latin1') === '\xff\xd8\xff') return 'jpeg'
  return bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP' ? 'webp' : undefined
}

/** Measures a received image; undefined if it isn't one. */
export async function measure(bytes: Buffer): Promise<(Size & { alpha: boolean }) | undefined> {
  if (formatOf(bytes) === undefined) return undefined
  try {
    const { width, height, hasAlpha } = await sharp(bytes).metadata()
    return { width, height, alpha: hasAlpha }
  } catch {
    return undefined
  }
}
