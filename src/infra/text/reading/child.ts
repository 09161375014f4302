/** The sandboxed process that reads untrusted documents. It has no keys and may not write files or start programs. */
import { type DocumentInput, type DocumentText, Unreadable } from '../documents/document.ts'

const readers: Record<
  DocumentInput['kind'],
  () => Promise<(input: DocumentInput) => Promise<DocumentText> | DocumentText>
> = {
  html: async () => (await import('../documents/html.ts')).readHtml,
  pdf: async () => (await import('../documents/pdf.ts')).readPdf,
  docx: async () => (await import('../office/word.ts')).readDocx,
  xlsx: async () => (await import('../office/sheets.ts')).readXlsx,
  pptx: async () => (await import('../office/slides.ts')).readPptx,
  text: async () => (await import('../documents/text.ts')).readText,
}

process.on('message', (input: DocumentInput) => void answer(input))
process.on('disconnect', () => process.exit(0))

async function answer(input: DocumentInput): Promise<void> {
  try {
    const reader = await readers[input.kind]()
    const result = await reader(input)
    const isEmpty = input.kind !== 'text' && result.text.trim() === ''
    process.send!({ read: isEmpty ? { ...result, missing: 'no_text' } : result })
  } catch (error) {
    const { reason, message } =
      error instanceof Unreadable
        ? error
        : { reason: 'damaged' as const, message: 'The content doesn’t match its file type.' }
    process.send!({ reason, message })
  }
}
