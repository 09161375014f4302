import { Defuddle } from 'defuddle/node'
import { parseHTML } from 'linkedom'
import { charsetWithin, decode } from '../charset/charset.ts'
import { type DocumentInput, type DocumentText, plainRead, clip } from './document.ts'
import { unescapeMarkdown } from './unescape.ts'
import { type Bounds, overAt } from './markup.ts'
import { shorten } from '#core/text/shorten.ts'

/** The most HTML that is parsed, for more takes seconds. The rest is left out, and the reader is told. */
const MOST_HTML = 4_000_000
const LEAST_WORDS = 5
/** Every element takes a part of a millisecond; what is behind the last of them is left out as well. */
const MOST: Bounds = { elements: 20_000, attributes: 100_000, attributesOfOne: 500, depth: 200, tables: 6 }

/** The article of a page as Markdown: headings, lists, tables, code; menus and footers go, links are absolute. */
export async function readHtml({ bytes, charset, url }: DocumentInput): Promise<DocumentText> {
  const all = decode(bytes, charset, charsetWithin(bytes))
  const within = all.length > MOST_HTML ? shorten(all, MOST_HTML) : all
  const html = within.slice(0, overAt(within, MOST, { elements: 0, attributes: 0 }, 'html') ?? undefined)
  const article = await distill(html, url)
  // Pages that are only a list or a form have no article; then all that they show is read.
  const bestArticle = article.wordCount >= LEAST_WORDS ? article : await distill(html, url, 'body')
  const page = bestArticle.content.trim() === '' ? article : bestArticle
  const { text, truncated } = clip(unescapeMarkdown(page.content.trim() || (await markdownOf(html))))
  return plainRead(text, {
    // The library's own title leaves out what it takes for the name of the site, and is sometimes that name.
    title: words(parseHTML(html).document.title) ?? words(page.title),
    description: words(page.description),
    author: words(page.author),
    site: words(page.site),
    language: words(page.language),
    published: words(page.published),
    truncated: truncated || html.length < all.length,
  })
}

/** The Markdown of a page without an article. The library takes the first heading for a title that is shown elsewhere. */
async function markdownOf(html: string): Promise<string> {
  const { document } = parseHTML(`<!doctype html><html><body><h1>-</h1>${html}</body></html>`)
  for (const element of document.querySelectorAll('script, style, template, noscript, title')) element.remove()
  const { content } = await Defuddle(document, undefined, {
    markdown: true,
    useAsync: false,
    contentSelector: 'body',
    removeExactSelectors: false,
    removePartialSelectors: false,
    removeHiddenElements: false,
    removeLowScoring: false,
    removeContentPatterns: false,
    standardize: false,
  })
  return content.trim()
}

function distill(html: string, url: string | undefined, contentSelector?: string) {
  const { document } = parseHTML(html)
  // `useAsync: false`: the library would call other sites by itself.
  const options = { markdown: true, useAsync: false, ...(contentSelector !== undefined && { contentSelector }) }
  return Defuddle(document, url, options)
}

const words = (text: string | undefined): string | null =>
  shorten((text ?? '').replace(/\s+/g, ' ').trim(), 2_000) || null
