import type { StreamParser } from '@codemirror/language'

interface Place {
  /** The fence that closes the current code block; null outside of code. */
  fence: string | null
}

/** Inline syntax, tried in this order. */
const within: readonly [pattern: RegExp, token: string][] = [
  [/^\\[\\`*_{}[\]()#+.!|<>~-]/, 'escape'],
  [/^(`+)(?!`).*?[^`]\1(?!`)/, 'string'],
  [/^\*\*(?=\S)(?:\\.|[^*]|\*(?!\*))+\*\*/, 'strong'],
  [/^\*(?=[^\s*])(?:\\.|[^*])+\*(?!\*)/, 'emphasis'],
  [/^!?\[[^\]]*\]\([^)\s]*\)/, 'link'],
  [/^<https?:\/\/[^>\s]+>/, 'link'],
]
const wordly: readonly [pattern: RegExp, token: string][] = [
  [/^__(?=\S)(?:\\.|[^_]|_(?!_))+__(?!\w)/, 'strong'],
  [/^_(?=[^\s_])(?:\\.|[^_])+_(?!\w)/, 'emphasis'],
]

/** A CodeMirror parser for Markdown that keeps all markers visible. */
export const markdown: StreamParser<Place> = {
  name: 'markdown',
  startState: () => ({ fence: null }),
  copyState: ({ fence }) => ({ fence }),
  token(stream, place) {
    if (stream.sol()) {
      if (place.fence !== null) {
        const end = stream.match(/^ {0,3}(`{3,}|~{3,})\s*$/) as RegExpMatchArray | null
        if (end?.[1]!.startsWith(place.fence)) place.fence = null
        stream.skipToEnd()
        return 'string'
      }
      const fence = stream.match(/^ {0,3}(`{3,}|~{3,})[^`]*$/) as RegExpMatchArray | null
      if (fence) {
        place.fence = fence[1]!
        return 'string'
      }
      if (stream.match(/^ {0,3}#{1,6}(?=\s|$).*/)) return 'heading'
      if (stream.match(/^ {0,3}(?:[-*_]\s*){3,}$/)) return 'meta'
      if (stream.match(/^\s*>/)) return 'meta'
      if (stream.match(/^\s*(?:[-+*]|\d{1,9}[.)])(?=\s)/)) return 'keyword'
    }
    const before = stream.pos === 0 ? '' : stream.string[stream.pos - 1]!
    for (const [pattern, token] of /\w/.test(before) ? within : [...within, ...wordly])
      if (stream.match(pattern)) return token
    stream.next()
    stream.eatWhile(/[^\\`*_[!<]/)
    return null
  },
}
