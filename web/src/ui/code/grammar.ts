/** The highlighter: about 50 KB, loaded with the first code block. */
import { type GrammarState, createCssVariablesTheme, createHighlighterCore } from '@shikijs/core'
import { createJavaScriptRegexEngine } from '@shikijs/engine-javascript'
import { grammarFor } from './languages.ts'

/** A piece of a line with its token type, such as `keyword`; null is plain. */
export type Token = readonly [text: string, kind: string | null]
export type Line = readonly Token[]

/** Lines per batch: between batches the page can render and handle input. */
const AT_ONCE = 50
/** Longer lines are data, not code to read. */
const LONGEST_LINE = 2_000
/**
 * The time limit per line, which includes compiling the grammar for the first one. The rest of a slow line stays plain.
 */
const LONGEST_MS = 2_000

const THEME = 'print'
const making = createHighlighterCore({
  // Classes instead of inline styles work in both themes and satisfy the content security policy.
  themes: [createCssVariablesTheme({ name: THEME, variablePrefix: '--code-', fontStyle: false })],
  langs: [],
  // Drops grammar rules that JavaScript regular expressions can't express.
  engine: createJavaScriptRegexEngine({ forgiving: true }),
})

/** Tokenizes the lines of a text; null if the language is unknown. Rejects with the signal's reason. */
export async function tokensOf(text: string, language: string, signal: AbortSignal): Promise<Line[] | null> {
  const grammar = grammarFor(language)
  if (grammar === null) return null
  const [highlighter, { default: registrations }] = await Promise.all([making, grammar.load()])
  await highlighter.loadLanguage(registrations)
  const lines = text.split('\n')
  const read: Line[] = []
  let state: GrammarState | undefined
  for (let at = 0; at < lines.length; at += AT_ONCE) {
    await restOfFrame()
    signal.throwIfAborted()
    const tokens = highlighter.codeToTokensBase(lines.slice(at, at + AT_ONCE).join('\n'), {
      lang: grammar.name,
      theme: THEME,
      tokenizeMaxLineLength: LONGEST_LINE,
      tokenizeTimeLimit: LONGEST_MS,
      ...(state && { grammarState: state }),
    })
    state = highlighter.getLastGrammarState(tokens)
    for (const line of tokens) read.push(line.map(({ content, color }): Token => [content, kindOf(color)]))
  }
  return read
}

const restOfFrame = (): Promise<unknown> =>
  new Promise((resolve) =>
    'requestIdleCallback' in globalThis ? requestIdleCallback(resolve, { timeout: 200 }) : setTimeout(resolve),
  )

const kindOf = (color: string | undefined): string | null => /--code-token-([a-z-]+)/.exec(color ?? '')?.[1] ?? null
