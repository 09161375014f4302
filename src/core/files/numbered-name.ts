import { shortenBytes } from '../text/shorten.ts'

/** The most bytes of a name in UTF-8, as on most disks. */
export const MOST_NAME_BYTES = 255

/** `name (2).ext` for 2; the name gives way where both do not fit. */
export function numberedName(name: string, n: number): string {
  const { stem, ending } = partsOf(name)
  return clip(stem, ` (${n})${ending}`)
}

/** More than files that fit any disk. */
const MOST_DIGITS = 15

/** The parts of a numbered name around its digits: `before[2]` comes before a number of two digits. */
export function aroundNumber(name: string): { before: string[]; after: string } {
  const { stem, ending } = partsOf(name)
  const after = `)${ending}`
  const beforeOf = (digits: number): string =>
    clip(stem, ` (${'0'.repeat(digits)}${after}`).slice(0, -(digits + after.length))
  return { before: Array.from({ length: MOST_DIGITS }, (_, n) => beforeOf(n + 1)), after }
}

function partsOf(name: string): { stem: string; ending: string } {
  const dot = name.lastIndexOf('.')
  const ending = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : ''
  return { stem: name.slice(0, name.length - ending.length), ending }
}

/** A name with this ending, cut before it where both don't fit. */
export const clip = (stem: string, ending: string): string =>
  shortenBytes(stem, MOST_NAME_BYTES - Buffer.byteLength(ending)).normalize('NFC') + ending
