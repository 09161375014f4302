import { Defuddle } from 'defuddle/node'
import { parseHTML } from 'linkedom'
import { charsetWithin, decode } from '../charset/charset.ts'
import { type DocumentInput, type DocumentText, plainRead, clip } from './document.ts'
import { unescapeMarkdown } from './unescape.ts'
import { type Bounds, overAt } from './markup.ts'
import { shorten } from '#core/text/shorten.ts'

/** Maximum HTML parsed, because more takes seconds. The result says that the rest is missing. */
const MAX_HTML = 4_000_000
const MIN_WORDS = 5
const MAX: Bounds = { elements: 20_000, attributes: 100_000, attributesOfOne: 500, depth: 200, tables: 6 }

/** A page's main article as Markdown: headings, lists, tables, code, absolute links; without menus and footers. */
export async function readHtml({ bytes, charset, url }: DocumentInput): Promise<DocumentText> {
  const all = decode(bytes, charset, charsetWithin(bytes))
  const within = all.length > MAX_HTML ? shorten(all, MAX_HTML) : all
  const html = within.slice(0, overAt(within, MAX, { elements: 0, attributes: 0 }, 'html') ?? undefined)
  const article = await distill(html, url)
  // A page that is only a list or form has no article, so everything visible is read.
  const bestArticle = article.wordCount >= MIN_WORDS ? article : await distill(html, url, 'body')
  const page = bestArticle.content.trim() === '' ? article : bestArticle
  const { text, truncated } = clip(unescapeMarkdown(page.content.trim() || (await markdownOf(html))))
  return plainRead(text, {
    // The library's title omits what it considers the site's name, and is sometimes only that name.
    title: words(parseHTML(html).document.title) ?? words(page.title),
    description: words(page.description),
    author: words(page.author),
    site: words(page.site),
    language: words(page.language),
    published: words(page.published),
    truncated: truncated || html.length < all.length,
  })
}

/** Markdown of a page without an article. The library drops the first heading as a title. */
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
  // `useAsync: false`: otherwise the library requests other sites.
  const options = { markdown: true, useAsync: false, ...(contentSelector !== undefined && { contentSelector }) }
  return Defuddle(document, url, options)
}

const words = (text: string | undefined): string | null =>
  shorten((text ?? '').replace(/\s+/g, ' ').trim(), 2_000) || null
