import type { Pdf } from './open-pdf.ts'
import { shorten } from '../../../../../src/core/text/shorten.ts'

/** Limits: pages searched, and characters kept per page. */
const MAX_PAGES = 3_000
const MAX_LETTERS = 200_000

/** The lowercase text of each page read so far. */
export class PageWords {
  readonly #pdf: Pdf
  readonly #words = new Map<number, Promise<string>>()

  constructor(pdf: Pdf) {
    this.#pdf = pdf
  }

  /** Yields matching pages in order. Stops early when aborted. */
  async *pagesWith(words: string, isAsked: () => boolean): AsyncGenerator<number> {
    const query = words.trim().toLowerCase()
    const last = Math.min(this.#pdf.numPages, MAX_PAGES)
    for (let page = 1; page <= last && isAsked(); page++) if ((await this.#of(page)).includes(query)) yield page
  }

  #of(page: number): Promise<string> {
    const cached = this.#words.get(page)
    if (cached) return cached
    const words = this.#read(page).catch(() => '')
    this.#words.set(page, words)
    return words
  }

  async #read(page: number): Promise<string> {
    const { items } = await (await this.#pdf.getPage(page)).getTextContent()
    const parts = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? ' ' : '') : ''))
    return shorten(parts.join(''), MAX_LETTERS).toLowerCase()
  }
}
