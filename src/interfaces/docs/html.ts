/** Safe markup, created only by `html`, which escapes all values. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | null | false | readonly Part[]

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text: string): string => text.replace(/[&<>"']/g, (mark) => escapes[mark]!)

const render = (part: Part): string => {
  if (part === null || part === false) return ''
  if (part instanceof Html) return part.text
  return typeof part === 'object' ? part.map(render).join('') : escape(String(part))
}

export const html = (texts: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(texts.reduce((all, text, i) => all + render(parts[i - 1] ?? null) + text))

/** Trusted markup. */
export const verbatim = (text: string): Html => new Html(text)

/** Renders `code` and **strong**; an empty line starts a paragraph. */
export const prose = (text: string): Html =>
  new Html(
    text
      .split(/\n{2,}/)
      .map((paragraph) => `<p>${inline(paragraph).text}</p>`)
      .join(''),
  )

export const inline = (text: string): Html =>
  new Html(
    escape(text)
      .replace(/`([^`]+)`/g, '<code>$1</code>')
      .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>'),
  )
