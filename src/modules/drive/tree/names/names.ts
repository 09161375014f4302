import { refuse } from '#core/errors.ts'
import { MAX_NAME_BYTES, clip } from '#core/files/numbered-name.ts'

/** The path limit of common systems that files are copied to. */
const MAX_PATH_BYTES = 4_096
const MAX_DEPTH = 128

/** Returns the name in NFC as stored. Rejects names that could mislead people or programs. */
export function checkName(input: string, param = 'name', called = `\`${param}\``): string {
  const name = input.normalize('NFC')
  const wrong = whatIsWrong(name)
  if (wrong !== null) refuse('invalid_parameter', { param, message: `${called} ${wrong}.` })
  return name
}

function whatIsWrong(name: string): string | null {
  if (name === '') return 'must not be empty'
  if (name === '.' || name === '..') return `must not be \`${name}\``
  if (name.includes('/')) return 'must not contain `/`. Use `parent_id` to choose a folder'
  if (/\p{Cc}/u.test(name)) return 'must not contain control characters'
  if (!name.isWellFormed()) return 'must not contain an unpaired surrogate'
  // Embeddings, overrides and isolates make `gpj.exe` read as `exe.jpg` (Unicode TR 36, 2.10). Single marks don't.
  if (/[\u202A-\u202E\u2066-\u2069]/.test(name)) return 'must not contain characters that change the text direction'
  if (name.trim() === '') return 'must not consist only of spaces'
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `must have at most ${MAX_NAME_BYTES} bytes in UTF-8`
  return null
}

/** Turns a sender's arbitrary file name into a valid one, changing as little as possible. */
export function safeName(input: string): string {
  const name = input
    .toWellFormed()
    .normalize('NFC')
    .replaceAll(/[\p{Cc}/\u202A-\u202E\u2066-\u2069]/gu, '')
    .trim()
  return whatIsWrong(name) === null ? name : clip(name === '' || /^\.\.?$/.test(name) ? 'file' : name, '')
}

export interface TreePlace {
  path: string
  ancestors: string[]
}

export const placeBelow = (parent: (TreePlace & { id: string }) | null, name: string): TreePlace =>
  parent === null
    ? { path: name, ancestors: [] }
    : { path: `${parent.path}/${name}`, ancestors: [...parent.ancestors, parent.id] }

/** Rejects paths too deep or long to be copied to a disk. */
export function checkDepth({ path, ancestors }: { path: string; ancestors: { length: number } }, param: string): void {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    refuse('invalid_parameter', { param, message: `The path can have up to ${MAX_PATH_BYTES} bytes in UTF-8.` })
  if (ancestors.length >= MAX_DEPTH)
    refuse('invalid_parameter', { param, message: `Folders can be nested up to ${MAX_DEPTH} levels deep.` })
}
