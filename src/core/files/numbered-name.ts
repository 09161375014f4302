import { shortenBytes } from '../text/shorten.ts'

/** UTF-8 bytes, the limit of most file systems. */
export const MAX_NAME_BYTES = 255

/** `name (2).ext` for 2. Shortens the name if needed. */
export function numberedName(name: string, n: number): string {
  const { stem, ending } = partsOf(name)
  return clip(stem, ` (${n})${ending}`)
}

/** More files than fit on any disk. */
const MAX_DIGITS = 15

/** The parts around the number: `before[2]` precedes a two-digit number. */
export function aroundNumber(name: string): { before: string[]; after: string } {
  const { stem, ending } = partsOf(name)
  const after = `)${ending}`
  const beforeOf = (digits: number): string =>
    clip(stem, ` (${'0'.repeat(digits)}${after}`).slice(0, -(digits + after.length))
  return { before: Array.from({ length: MAX_DIGITS }, (_, n) => beforeOf(n + 1)), after }
}

function partsOf(name: string): { stem: string; ending: string } {
  const dot = name.lastIndexOf('.')
  const ending = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : ''
  return { stem: name.slice(0, name.length - ending.length), ending }
}

export const clip = (stem: string, ending: string): string =>
  shortenBytes(stem, MAX_NAME_BYTES - Buffer.byteLength(ending)).normalize('NFC') + ending
