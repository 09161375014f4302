import { Marked, type Token, type Tokens } from 'marked'
import { type Html, html, verbatim } from '../html.ts'

/** A rendered Markdown file: its title, body, and sections for the search. */
export interface Page {
  title: string
  content: Html
  parts: Part[]
}
export interface Part {
  id: string
  title: string
  text: string
}

/**
 * Renders Markdown to HTML. Raw HTML is dropped, headings get GitHub's IDs, and `linkOf` resolves links; null keeps
 * only the text.
 */
export function readMarkdown(source: string, linkOf: (href: string) => string | null): Page {
  const marked = new Marked({ gfm: true })
  const tokens = marked.lexer(source)
  const ids = new Map<Token, string>()
  const seen = new Map<string, number>()
  for (const token of tokens)
    if (token.type === 'heading') ids.set(token, unique(slugOf(plain(token.tokens ?? [])), seen))
  marked.use({
    renderer: {
      heading(token) {
        const words = verbatim(this.parser.parseInline(token.tokens))
        const id = ids.get(token) ?? ''
        const inner = token.depth === 1 ? words : html`<a class="anchor" href="#${id}">${words}</a>`
        return html`<${verbatim(`h${token.depth}`)} id="${id}">${inner}</${verbatim(`h${token.depth}`)}>`.text
      },
      code: ({ text, lang = '' }) =>
        html`<pre tabindex="0" data-language="${lang.split(' ')[0]!}"><code>${text}</code></pre>`.text,
      link({ href, tokens: inner }) {
        const words = verbatim(this.parser.parseInline(inner))
        const to = linkOf(href)
        return to === null ? words.text : html`<a href="${to}">${words}</a>`.text
      },
      image({ href, text }) {
        const to = linkOf(href)
        return to === null ? '' : html`<img src="${to}" alt="${text}" loading="lazy" />`.text
      },
      table(token) {
        const row = (cells: Tokens.TableCell[], tag: 'th' | 'td'): Html[] =>
          cells.map(({ tokens: inner }) => {
            const words = verbatim(this.parser.parseInline(inner))
            return tag === 'th' ? html`<th scope="col">${words}</th>` : html`<td>${words}</td>`
          })
        const rows = token.rows.map(
          (cells) =>
            html`<tr>
              ${row(cells, 'td')}
            </tr>`,
        )
        return html`<div class="wide" tabindex="0">
          <table>
            <thead>
              <tr>
                ${row(token.header, 'th')}
              </tr>
            </thead>
            <tbody>
              ${rows}
            </tbody>
          </table>
        </div>`.text
      },
      html: () => '',
    },
  })
  const title = tokens.find((token): token is Tokens.Heading => token.type === 'heading' && token.depth === 1)
  return {
    title: title ? plain(title.tokens) : 'Untitled',
    content: verbatim(marked.parser(tokens)),
    parts: partsOf(tokens, ids),
  }
}

/** GitHub's heading IDs: `Behind a proxy?` becomes `behind-a-proxy`. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

function unique(slug: string, seen: Map<string, number>): string {
  const before = seen.get(slug) ?? 0
  seen.set(slug, before + 1)
  return before === 0 ? slug : `${slug}-${before}`
}

/** Plain text of the tokens. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if ('tokens' in token && token.tokens) return plain(token.tokens)
      if (token.type === 'list') return plain((token as Tokens.List).items)
      if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table
        return [header, ...rows]
          .flat()
          .map((cell) => plain(cell.tokens))
          .join(' ')
      }
      return token.type === 'html' || token.type === 'space' ? ' ' : 'text' in token ? String(token.text) : ''
    })
    .join(tokens.some(({ type }) => type === 'paragraph' || type === 'list_item') ? ' ' : '')
}

function partsOf(tokens: readonly Token[], ids: ReadonlyMap<Token, string>): Part[] {
  const parts: Part[] = []
  for (const token of tokens) {
    if (token.type === 'heading') parts.push({ id: ids.get(token)!, title: plain(token.tokens ?? []), text: '' })
    else if (parts.length > 0) parts.at(-1)!.text += ` ${plain([token])}`
  }
  return parts
}
