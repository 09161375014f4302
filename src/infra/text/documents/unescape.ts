const ESCAPED = /\\([\\`*_{}[\]()#+\-.!|>~=<])/g
const SPAN = /(`+)(?!`)[^]*?[^`]\1(?!`)/g
const FENCE = /^ {0,3}(`{3,}|~{3,})/

/**
 * Removes Markdown escapes outside code: people search for and copy `MAX_UPLOAD_SIZE`, not `MAX\_UPLOAD\_SIZE`. Pure.
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
    // An escaped backtick doesn't start code.
    if (line[span.index - 1] === '\\') continue
    text += line.slice(at, span.index).replace(ESCAPED, '$1') + span[0]
    at = span.index + span[0].length
  }
  return text + line.slice(at).replace(ESCAPED, '$1')
}
