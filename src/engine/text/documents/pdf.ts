import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import { type DocumentInput, type Read, Unreadable, plainRead, clipped } from './document.ts'
import { shorten } from '#kernel/text/shorten.ts'

/** Pages apart by an empty line; hyphenation and columns as the file has them. */
export async function readPdf({ bytes }: DocumentInput): Promise<Read> {
  const pdf = await getDocumentProxy(new Uint8Array(bytes)).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'PasswordException')
      throw new Unreadable('encrypted', 'The PDF needs a password.')
    throw new Unreadable('damaged', 'It is not a PDF that can be read.')
  })
  const { text: pages, totalPages } = await extractText(pdf, { mergePages: false })
  const { info } = await getMeta(pdf).catch(() => ({ info: {} as Record<string, unknown> }))
  const { text, truncated } = clipped(pages.map((page) => page.trim()).join('\n\n'))
  return plainRead(text, { title: said(info.Title), author: said(info.Author), parts: totalPages, truncated })
}

const said = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? shorten(value.trim(), 500) : null
