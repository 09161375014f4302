import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import { shorten } from '#core/text/shorten.ts'
import { type DocumentInput, type DocumentText, Unreadable, clip, plainRead } from './document.ts'

/** The package with predefined CMaps (ISO 32000-1, 9.7.5.2) and standard font metrics. */
const packageDir = dirname(fileURLToPath(import.meta.resolve('pdfjs-dist/package.json')))
const places = {
  cMapUrl: `${packageDir}/cmaps/`,
  cMapPacked: true,
  standardFontDataUrl: `${packageDir}/standard_fonts/`,
}

const LOSSES = /CMap|translateFont|loadFont|getTextContent|font file|Page \d|error during/i

export async function readPdf({ bytes }: DocumentInput): Promise<DocumentText> {
  const warnings = listen()
  try {
    const pdf = await getDocumentProxy(new Uint8Array(bytes), { ...places, verbosity: 1 }).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'PasswordException')
        throw new Unreadable('encrypted', 'The PDF is password-protected.')
      throw new Unreadable('damaged', 'The PDF can’t be read.')
    })
    const { text: pages, totalPages } = await extractText(pdf, { mergePages: false })
    const { info } = await getMeta(pdf).catch(() => ({ info: {} as Record<string, unknown> }))
    const { text, truncated } = clip(pages.map((page) => page.trim()).join('\n\n'))
    const isPart = warnings.lost() || pages.some((page) => page.trim() === '')
    return plainRead(text, {
      title: textOf(info.Title),
      author: textOf(info.Author),
      parts: totalPages,
      truncated,
      missing: isPart ? 'incomplete' : null,
    })
  } finally {
    warnings.end()
  }
}

/** The library reports unreadable text on the console. This process reads one document at a time. */
function listen(): { lost(): boolean; end(): void } {
  const { log, warn } = console
  let isLost = false
  const hear = (...args: unknown[]): void => {
    isLost ||= LOSSES.test(args.join(' '))
  }
  console.log = hear
  console.warn = hear
  return {
    lost: () => isLost,
    end: () => void Object.assign(console, { log, warn }),
  }
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? shorten(value.trim(), 500) : null
