/** The rules of Microsoft's "Naming Files, Paths, and Namespaces", written from the page and not from the code. */

/** UTF-16 units: the rest of the 260 is for the folder that an archive is unpacked into. */
const MAX_UNITS = 200
export const DEVICES = [
  'CON',
  'PRN',
  'AUX',
  'NUL',
  'CONIN$',
  'CONOUT$',
  ...[...'0123456789¹²³'].flatMap((digit) => [`COM${digit}`, `LPT${digit}`]),
]
export function brokenRule(path: string): string | null {
  if (path.length > MAX_UNITS) return 'too long'
  for (const name of path.split('/')) {
    if (name === '' || name === '.' || name === '..') return 'empty or relative'
    if ([...name].some((one) => '<>:"\\|?*'.includes(one) || one.codePointAt(0)! < 32)) return 'reserved character'
    if (name.endsWith('.') || name.endsWith(' ')) return 'ends with a dot or space'
    if (DEVICES.includes(name.split('.')[0]!.trimEnd().toUpperCase())) return 'reserved name'
    if (!name.isWellFormed() || Buffer.byteLength(name) > 255) return 'not a name of 255 bytes'
  }
  return null
}

/** Paths that are one to Windows or macOS are equal after one of these. */
export const foldings: readonly ((path: string) => string)[] = [
  (path) => path.toLowerCase(),
  (path) => path.toUpperCase(),
  (path) => path.normalize('NFD').toLowerCase(),
  (path) => path.normalize('NFKD').toUpperCase().toLowerCase(),
]
