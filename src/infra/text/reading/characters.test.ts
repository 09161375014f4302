import assert from 'node:assert/strict'
import { test } from 'node:test'
import { docxOf, pdfOf, pptxOf, xlsxOf } from '#test/drive/documents.ts'
import type { DocumentInput, DocumentKind, DocumentText } from '../documents/document.ts'
import { readHtml } from '../documents/html.ts'
import { readPdf } from '../documents/pdf.ts'
import { readXlsx } from '../office/sheets.ts'
import { readPptx } from '../office/slides.ts'
import { readText } from '../documents/text.ts'
import { readDocx } from '../office/word.ts'

const signs = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter(
  (sign) => !/[a-z0-9]/i.test(sign),
)
const words = signs.flatMap((sign) => [
  `${sign}start`,
  `mid${sign}dle`,
  `end${sign}`,
  `twice${sign}${sign}in${sign}one`,
])
const lines = Array.from(
  { length: Math.ceil(words.length / 8) },
  (_, i) => `Line ${i}: ${words.slice(i * 8, i * 8 + 8).join(' ')} .`,
)
const escapedLines = lines.map((line) => line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'))

const formats: Record<
  DocumentKind,
  { read: (input: DocumentInput) => DocumentText | Promise<DocumentText>; make: () => Promise<Buffer> | Buffer }
> = {
  docx: {
    read: readDocx,
    make: () => docxOf(escapedLines.map((line) => `<w:p><w:r><w:t>${line}</w:t></w:r></w:p>`).join('')),
  },
  pptx: { read: readPptx, make: () => pptxOf([escapedLines.join('\n')]) },
  xlsx: {
    read: readXlsx,
    make: () => xlsxOf({ A: escapedLines.map((_, i) => `<row><c t="s"><v>${i}</v></c></row>`).join('') }, escapedLines),
  },
  pdf: { read: readPdf, make: () => pdfOf(lines) },
  html: {
    read: readHtml,
    make: () =>
      Buffer.from(
        `<!doctype html><title>x</title><article>${escapedLines.map((line) => `<p>${line}</p>`).join('')}</article>`,
      ),
  },
  text: { read: readText, make: () => Buffer.from(lines.join('\n')) },
}

for (const [kind, { read, make }] of Object.entries(formats) as [DocumentKind, (typeof formats)['docx']][])
  test(`the author's characters are read from ${kind}: each sign at the start, in the middle and at the end of a word`, async () => {
    const { text } = await read({ kind, bytes: await make() })
    // The page library sometimes drops a space.
    const of = (line: string): string => (kind === 'html' ? line.replace(/\s/g, '') : line)
    for (const line of lines)
      assert.ok(
        of(text).includes(of(line)),
        `${line}\nis in\n${text.split('\n').find((one) => one.includes(line.slice(0, 7)))}`,
      )
  })
