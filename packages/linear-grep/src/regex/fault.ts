import { RE2JSSyntaxException } from 're2js'
import { excerptOf } from '../excerpt.ts'

const causes: Readonly<Record<string, string>> = {
  'missing closing )': 'a `(` is never closed',
  'unexpected )': 'a `)` closes nothing',
  'missing closing ]': 'a `[` is never closed',
  'missing argument to repetition operator': 'there is nothing before a `*`, `+`, `?` or `{…}` to repeat',
  'invalid nested repetition operator': 'two repetitions follow each other; group the first one with `(?:…)`',
  'invalid repeat count': 'a repetition must be `{n}`, `{n,}` or `{n,m}` with numbers from 0 to 1000',
  'invalid escape sequence':
    'an escape is unknown; backreferences are not supported, and a literal backslash is written `\\\\`',
  'invalid character class range': 'a class or a range in `[…]` is unknown, or ends before it starts',
  'trailing backslash at end of expression': 'it ends with a single `\\`; a literal backslash is written `\\\\`',
  'invalid named capture':
    'a group is named `(?P<name>…)` or `(?<name>…)`, with letters, digits and `_`; lookbehinds are not supported',
  'duplicate capture group name': 'two groups have the same name',
  'invalid or unsupported Perl syntax':
    'after `(?` only `:`, `P<name>`, `<name>` and the flags `i`, `m`, `s` and `U` are supported; lookaheads are not',
  'expression nests too deeply': 'it nests too deeply',
  'expression too large': 'it is too large',
}

const LONGEST_EXCERPT = 40

/** Why a pattern doesn't compile, as text after a colon. Never includes the compiler's message. */
export function faultOf(error: unknown): string {
  if (!(error instanceof RE2JSSyntaxException)) return 'it can’t be compiled'
  const { error: code, input } = error as RE2JSSyntaxException & { error: string; input: string | null }
  const cause = causes[code] ?? 'part of it isn’t valid'
  return typeof input === 'string' && input !== '' ? `${cause} (at \`${excerptOf(input, LONGEST_EXCERPT)}\`)` : cause
}
