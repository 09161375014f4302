/** The highlighter itself: some 50 KB that are loaded with the first code that is drawn. */
import { type GrammarState, createCssVariablesTheme, createHighlighterCore } from '@shikijs/core'
import { createJavaScriptRegexEngine } from '@shikijs/engine-javascript'
import { grammarFor } from './languages.ts'

/** A piece of a line, and what it is: `keyword`, `string` …; null is plain. */
export type Token = readonly [text: string, kind: string | null]
export type Line = readonly Token[]

/** Lines that are read at once: between them the page may draw and take keys. */
const AT_ONCE = 50
/** Longer lines are data that nobody reads. */
const LONGEST_LINE = 2_000
/**
 * The time limit of one line, within which a grammar is made ready as well when it is the first; what is left then has
 * no colours.
 */
const LONGEST_MS = 2_000

const THEME = 'print'
const making = createHighlighterCore({
  // Colours are classes of ours, so that both themes hold and no style is set.
  themes: [createCssVariablesTheme({ name: THEME, variablePrefix: '--code-', fontStyle: false })],
  langs: [],
  // A rule that JavaScript cannot say is left out.
  engine: createJavaScriptRegexEngine({ forgiving: true }),
})

/** The lines of a text as its language has them; null: the language is not known. Rejects with the signal's reason. */
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

/** `var(--code-token-string-expression)` is a `string-expression`. */
const kindOf = (color: string | undefined): string | null => /--code-token-([a-z-]+)/.exec(color ?? '')?.[1] ?? null
