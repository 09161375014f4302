import { ApiError } from '../client.ts'
import { Stop, codeOf, exitFor } from './exit.ts'
import { clean, type Terminal } from './terminal.ts'
import { Unreachable } from './server/send.ts'
import { kebab } from '../words.ts'

interface Around {
  terminal: Terminal
  json: boolean
  words: readonly string[]
  /** Undefined: the words are an endpoint's, or nobody's. */
  special: { words: readonly string[]; usage: string } | undefined
}

/** Says what went wrong and what to do next, on stderr; answers the exit code. */
export function explain(error: unknown, around: Around): number {
  if (error instanceof ApiError) return explainApi(error, around)
  if (error instanceof Stop)
    return say(around, codeOf(error.exit), error.exit, error.message, error.hint ?? usageHint(error, around))
  if (error instanceof Unreachable)
    return say(
      around,
      codeOf('unreachable'),
      'unreachable',
      `${error.at} does not answer: ${error.message}.`,
      'Is it running? Start it with `npm start`, or name another with --origin or UK_ORIGIN.',
    )
  return say(
    around,
    codeOf('failure'),
    'failure',
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  )
}

function explainApi(error: ApiError, around: Around): number {
  const { terminal, json } = around
  const exit = exitFor(error.status)
  if (json) {
    const { type, message, code, param, details, requestId } = error
    terminal.err(
      withoutSecrets(JSON.stringify({ error: { type, message, code, param, details }, request_id: requestId })),
    )
    return codeOf(exit)
  }
  say(around, codeOf(exit), exit, error.message, hintFor(error, around))
  if (error.requestId !== null) terminal.err(terminal.style('dim', `request id ${error.requestId}`))
  return codeOf(exit)
}

/** Keys and tokens that were given where something else belongs: errors are kept in logs and shown to others. */
const SECRET = /\b(uk[a-z]{0,2}_)[0-9A-Za-z]{16,}/g
const withoutSecrets = (text: string): string => text.replaceAll(SECRET, '$1…')

function say({ terminal, json }: Around, code: number, type: string, message: string, hint?: string): number {
  if (json)
    terminal.err(withoutSecrets(JSON.stringify({ error: { type, message, ...(hint !== undefined && { hint }) } })))
  else {
    // Names of files, and whatever else others chose.
    terminal.err(`${terminal.style('red', 'uk:')} ${withoutSecrets(clean(message))}`)
    if (hint !== undefined) terminal.err(withoutSecrets(clean(hint)))
  }
  return code
}

/** The words of the command, and nothing that was given to it. */
function commandIn({ words, special }: Around): string {
  if (special) return special.words.join(' ')
  return words
    .slice(0, 2)
    .filter((word) => /^[a-z][a-z-]*$/.test(word))
    .join(' ')
}

const usageHint = ({ exit }: Stop, around: Around): string | undefined =>
  exit === 'usage' && around.words.length > 0 ? `See \`uk ${commandIn(around)} --help\`.` : undefined

/** The command's option for a refused field. */
function optionFor(param: string | undefined, { special }: Around): string {
  if (param === undefined) return ''
  const option = `--${kebab(param.split('.')[0]!)}`
  // A command that is not an endpoint takes a password from a prompt or a pipe.
  const known = special ? special.usage.match(/--[a-z-]+/g)?.find((one) => one.startsWith(option)) : option
  return known === undefined ? '' : `It is ${known}. `
}

/** A hint at what a person can do about the error. */
function hintFor(error: ApiError, around: Around): string | undefined {
  const { type, code, param, details, retryAfterSeconds, status } = error
  switch (code ?? type) {
    case 'missing_scope':
      return `Run \`uk login\`, or make a key with this scope: \`uk api-keys create <name> --scopes ${String(details?.required_scope ?? '<scope>')}\`.`
    case 'invalid_credentials':
      return 'Try again, or ask the administrator for a new password.'
    case 'setup_required':
      return 'Run `uk sign-up` with the setup token that the server printed at its first start.'
    case 'insufficient_credits':
      return 'Ask for them: `uk me request-credits`. A key of your own: `uk ai-gateway create --preset openai --api-key @key.txt`.'
    case 'spend_cap_reached':
      return 'Raise the cap of the key: `uk api-keys update <id> --spend-cap-usd <usd>`.'
    case 'already_exists':
      return around.words[0] === 'sign-up' ? 'If it is yours: `uk login`.' : undefined
    case 'stale_update':
      return 'Read it again and repeat the change on what is there now.'
    case 'invalid_state':
      return Array.isArray(details?.allowed) && details.allowed.length > 0
        ? `What works now: ${details.allowed.join(', ')}.`
        : undefined
    case 'unknown_parameter':
      if (/Did you mean/.test(error.message)) return undefined
      return 'This program and the server may be of different versions: compare `uk --version`.'
  }
  if (param === 'model') return 'See `uk models list`.'
  if (status === 401)
    return around.terminal.env.UK_KEY
      ? 'It is the one in UK_KEY: set another, or unset it to use what `uk login` keeps.'
      : 'Run `uk login`, or set UK_KEY.'
  if (status === 429 && retryAfterSeconds !== null) return `Try again in ${retryAfterSeconds} s.`
  if (status === 404) return `Check the id; \`uk help ${around.words[0]}\` shows how to list what there is.`
  if (status === 400) return `${optionFor(param, around)}See \`uk ${commandIn(around)} --help\`.`
  if (status >= 500) return 'Try again. If it stays, ask who runs the server and name the request id.'
  return undefined
}
