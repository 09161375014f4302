import { readFile } from 'node:fs/promises'
import type { Metadata, Sharp } from 'sharp'
import type { MediaFacts } from '../facts.ts'
import { bareBytes } from './bare-bytes.ts'
import type { Beginning } from './kind.ts'
import type { ProbeResult } from './probe.ts'
import { UnreadableMedia } from './unreadable.ts'

/** Larger images are refused (contract, part 16). */
export const MAX_PIXELS = 100_000_000
const MAX_BYTES = 64 << 20
const MAX_FRAMES = 2_000

/** Decodes every pixel, so that truncated images are detected now instead of by viewers. */
export async function readPicture(path: string, start: Beginning): Promise<MediaFacts> {
  const { picture, metadata } = await openPicture(path, start)
  await whole(picture)
  return factsOf(start, metadata)
}

export async function barePicture(path: string, start: Beginning): Promise<ProbeResult> {
  const { picture, metadata } = await openPicture(path, start)
  await whole(picture)
  const bare = bareBytes(start.extension, await readFile(path))
  if (bare !== null) return { facts: { ...factsOf(start, metadata), sizeBytes: bare.length }, bytes: bare }
  const { data, info } = await picture.clone().autoOrient().png().toBuffer({ resolveWithObject: true })
  const { width, height, size } = info
  return {
    facts: {
      kind: 'image',
      type: 'image/png',
      extension: 'png',
      sizeBytes: size,
      width,
      height,
      durationSeconds: null,
    },
    bytes: data,
  }
}

async function openPicture(path: string, start: Beginning): Promise<{ picture: Sharp; metadata: Metadata }> {
  if (start.sizeBytes > MAX_BYTES)
    throw new UnreadableMedia(
      'too_large',
      `It has ${Math.ceil(start.sizeBytes / (1 << 20))} MiB. Images can have up to 64 MiB.`,
    )
  const sharpModule = await import('sharp').catch(() => null)
  if (sharpModule === null)
    throw new UnreadableMedia('missing', 'Images require `sharp`, which isn’t installed on the server.')
  const sharp = sharpModule.default
  sharp.concurrency(1)
  sharp.cache(false)
  // The header has the dimensions; this decodes nothing.
  const metadata = await sharp(path, { limitInputPixels: false }).metadata()
  const { width, height, pages = 1 } = metadata
  if (width * height > MAX_PIXELS)
    throw new UnreadableMedia(
      'too_large',
      `It has ${width} × ${height} pixels. Images can have up to 100 million pixels.`,
    )
  if (pages > MAX_FRAMES)
    throw new UnreadableMedia('too_large', `It has ${pages} frames. Images can have up to ${MAX_FRAMES} frames.`)
  return {
    // Sequential, so the image isn't held in memory where the format allows it.
    picture: sharp(path, { limitInputPixels: MAX_PIXELS, failOn: 'truncated', sequentialRead: true }),
    metadata,
  }
}

async function whole(picture: Sharp): Promise<void> {
  await picture
    .clone()
    .resize(8, 8, { fit: 'fill', kernel: 'nearest', fastShrinkOnLoad: false })
    .raw()
    .toBuffer()
    .catch(() => {
      throw new UnreadableMedia('damaged', 'It’s damaged or incomplete: its pixels can’t be decoded.')
    })
}

function factsOf({ type, extension, sizeBytes }: Beginning, metadata: Metadata): MediaFacts {
  const { width, height } = metadata.autoOrient
  return { kind: 'image', type, extension, sizeBytes, width, height, durationSeconds: null }
}
