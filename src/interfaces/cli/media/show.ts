import type { Terminal } from '../terminal.ts'
import type { MadeFile } from './made.ts'
import { sixel } from './sixel.ts'
import { type Way, wayOf } from './terminals.ts'

const CHUNK = 4_096
/** Maximum width: pixels for sixel, text columns for the others. */
const WIDEST = 640
const COLUMNS = 72
const PIXELS_A_COLUMN = 8

export async function showPicture(bytes: Buffer, file: MadeFile, terminal: Terminal): Promise<void> {
  const way = await wayOf(terminal)
  const words = way && (await wordsFor(way, bytes, file, terminal.columns))
  if (words) await terminal.out(`${words}\n`)
}

async function wordsFor(
  way: Way,
  bytes: Buffer,
  { mime_type, width }: MadeFile,
  columns: number,
): Promise<string | null> {
  const wide = Math.min(columns, COLUMNS, Math.ceil((width ?? WIDEST) / PIXELS_A_COLUMN))
  if (way === 'iterm2')
    return `\x1b]1337;File=inline=1;size=${bytes.length};width=${wide};preserveAspectRatio=1:${bytes.toString('base64')}\x07`
  if (way === 'kitty') {
    const png = mime_type === 'image/png' ? bytes : await asPng(bytes)
    return png && kitty(png, wide)
  }
  return asSixels(bytes)
}

/** Encodes an image for kitty's protocol, in chunks. `q=2` suppresses the terminal's reply. */
export function kitty(png: Buffer, columns: number): string {
  const text = png.toString('base64')
  const pieces = Array.from({ length: Math.ceil(text.length / CHUNK) }, (_, n) =>
    text.slice(n * CHUNK, (n + 1) * CHUNK),
  )
  return pieces
    .map((piece, n) => {
      const first = n === 0 ? `a=T,f=100,q=2,c=${columns},` : ''
      return `\x1b_G${first}m=${n === pieces.length - 1 ? 0 : 1};${piece}\x1b\\`
    })
    .join('')
}

/** `sharp` may not be available on this platform. */
const reader = async (bytes: Buffer) => {
  const loaded = await import('sharp').catch(() => null)
  return loaded?.default(bytes) ?? null
}

async function asPng(bytes: Buffer): Promise<Buffer | null> {
  return (await (await reader(bytes))?.png().toBuffer()) ?? null
}

async function asSixels(bytes: Buffer): Promise<string | null> {
  const picture = (await reader(bytes))?.resize({ width: WIDEST, withoutEnlargement: true })
  const image = await picture
    ?.flatten({ background: '#fff' })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true })
  return image ? sixel(image.data, image.info.width, image.info.height) : null
}
