/** Characters that a writer of Markdown puts a backslash before. */
const ESCAPED = /\\([\\`*_{}[\]()#+\-.!|>~=<])/g
const SPAN = /(`+)(?!`)[^]*?[^`]\1(?!`)/g
const FENCE = /^ {0,3}(`{3,}|~{3,})/

/**
 * The author's characters instead of Markdown's: people search for and copy `MAX_UPLOAD_SIZE`, not `MAX\_UPLOAD\_SIZE`. In
 * code nothing was escaped. Pure.
 */
export function unescapeMarkdown(markdown: string): string {
  let fence: string | null = null
  return markdown
    .split('\n')
    .map((line) => {
      const mark = FENCE.exec(line)?.[1]
      if (fence !== null) {
        if (mark !== undefined && mark.startsWith(fence)) fence = null
        return line
      }
      if (mark !== undefined) {
        fence = mark
        return line
      }
      return unescapeLine(line)
    })
    .join('\n')
}

function unescapeLine(line: string): string {
  if (!line.includes('\\')) return line
  let at = 0
  let text = ''
  for (const span of line.matchAll(SPAN)) {
    // An escaped mark opens no code.
    if (line[span.index - 1] === '\\') continue
    text += line.slice(at, span.index).replace(ESCAPED, '$1') + span[0]
    at = span.index + span[0].length
  }
  return text + line.slice(at).replace(ESCAPED, '$1')
}
