/** The text of a Markdown message for reading aloud: no markup, no URLs, code only by name. */
export const spokenOf = (text: string): string =>
  text
    .replace(/```[^\n]*\n[\s\S]*?(?:```|$)/g, ' (code) ')
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, '$1')
    .replace(/https?:\/\/\S+/g, ' (a link) ')
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\|)[ \t]+/gm, '')
    .replace(/[*_`~|]+/g, ' ')
    .replace(/[ \t]+/g, ' ')
    .trim()
