import mammoth from 'mammoth'
import { type DocumentInput, type Read, Unreadable, plainRead, clipped } from './document.ts'
import { markdownOf } from './html.ts'
import { openParts } from './zip.ts'

/** The limits of a document: some thousand pages. */
const MOST = { elements: 300_000, attributes: 600_000, attributesOfOne: 1_000, depth: 200, tables: 6 }

/** Headings, lists, tables and links as Markdown; pictures are left out. */
export async function readDocx({ bytes }: DocumentInput): Promise<Read> {
  // The library unpacks without a bound, so what it is handed was measured before.
  await openParts(bytes, MOST, () => true)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const withoutPictures = mammoth.images.imgElement(() => Promise.resolve({ src: '' }))
  const { value } = await mammoth.convertToHtml({ buffer }, { convertImage: withoutPictures }).catch(() => {
    throw new Unreadable('damaged', 'It is not a DOCX that can be read.')
  })
  const { text, truncated } = clipped(await markdownOf(value.replace(/<img [^>]*>/g, '')))
  return plainRead(text, { truncated })
}
