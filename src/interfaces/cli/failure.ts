import { ApiError } from '../client.ts'
import { Stop, codeOf, exitFor } from './exit.ts'
import { clean, type Terminal } from './terminal.ts'
import { Unreachable } from './server/send.ts'
import { kebab } from '../words.ts'

interface Around {
  terminal: Terminal
  json: boolean
  words: readonly string[]
  /** Undefined for an endpoint or an unknown command. */
  special: { words: readonly string[]; usage: string } | undefined
}

/** Prints the error and the next step to stderr. Returns the exit code. */
export function explain(error: unknown, around: Around): number {
  if (error instanceof ApiError) return explainApi(error, around)
  if (error instanceof Stop)
    return say(around, codeOf(error.exit), error.exit, error.message, error.hint ?? usageHint(error, around))
  if (error instanceof Unreachable)
    return say(
      around,
      codeOf('unreachable'),
      'unreachable',
      `Can't reach ${error.at}: ${error.message}.`,
      'Is the server running? Start it with `npm start`, or set another address with --origin or UK_ORIGIN.',
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
  if (error.requestId !== null) terminal.err(terminal.style('dim', `request ID ${error.requestId}`))
  return codeOf(exit)
}

/** Matches keys and tokens entered in the wrong place. They must not end up in logs. */
const SECRET = /\b(uk[a-z]{0,2}_)[0-9A-Za-z]{16,}/g
const withoutSecrets = (text: string): string => text.replaceAll(SECRET, '$1…')

function say({ terminal, json }: Around, code: number, type: string, message: string, hint?: string): number {
  if (json)
    terminal.err(withoutSecrets(JSON.stringify({ error: { type, message, ...(hint !== undefined && { hint }) } })))
  else {
    // Messages can contain file names and other text from other users.
    terminal.err(`${terminal.style('red', 'uk:')} ${withoutSecrets(clean(message))}`)
    if (hint !== undefined) terminal.err(withoutSecrets(clean(hint)))
  }
  return code
}

/** The command's own words, without its arguments. */
function commandIn({ words, special }: Around): string {
  if (special) return special.words.join(' ')
  return words
    .slice(0, 2)
    .filter((word) => /^[a-z][a-z-]*$/.test(word))
    .join(' ')
}

const usageHint = ({ exit }: Stop, around: Around): string | undefined =>
  exit === 'usage' && around.words.length > 0 ? `See \`uk ${commandIn(around)} --help\`.` : undefined

function optionFor(param: string | undefined, { special }: Around): string {
  if (param === undefined) return ''
  const option = `--${kebab(param.split('.')[0]!)}`
  // Special commands read passwords from a prompt or a pipe, so they may have no such option.
  const flag = special ? special.usage.match(/--[a-z-]+/g)?.find((one) => one.startsWith(option)) : option
  return flag === undefined ? '' : `Check ${flag}. `
}

function hintFor(error: ApiError, around: Around): string | undefined {
  const { type, code, param, details, retryAfterSeconds, status } = error
  switch (code ?? type) {
    case 'missing_scope':
      return `Run \`uk login\`, or create a key with this scope: \`uk api-keys create <name> --scopes ${String(details?.required_scope ?? '<scope>')}\`.`
    case 'invalid_credentials':
      return 'Try again, or ask an administrator to reset your password.'
    case 'setup_required':
      return 'Run `uk sign-up` with the setup token the server printed when it first started.'
    case 'insufficient_credits':
      return 'Request credits: `uk me request-credits`. Or use your own provider key: `uk ai-gateway create --preset openai --api-key @key.txt`.'
    case 'spend_cap_reached':
      return "Raise the key's spend cap: `uk api-keys update <id> --spend-cap-usd <usd>`."
    case 'already_exists':
      return around.words[0] === 'sign-up' ? 'If this is your account, run `uk login`.' : undefined
    case 'stale_update':
      return 'It changed in the meantime. Fetch it again, then repeat your change.'
    case 'invalid_state':
      return Array.isArray(details?.allowed) && details.allowed.length > 0
        ? `Allowed now: ${details.allowed.join(', ')}.`
        : undefined
    case 'unknown_parameter':
      if (/Did you mean/.test(error.message)) return undefined
      return 'Your CLI and the server may be different versions. Check with `uk --version`.'
  }
  if (param === 'model') return 'Run `uk models list` to see the models you can use.'
  if (status === 401)
    return around.terminal.env.UK_KEY
      ? 'The key comes from UK_KEY. Set another key, or unset UK_KEY to use your `uk login`.'
      : 'Run `uk login`, or set UK_KEY.'
  if (status === 429 && retryAfterSeconds !== null) return `Try again in ${retryAfterSeconds} s.`
  if (status === 404)
    return `Check the ID. \`uk help ${around.words[0]}\` shows the commands that list what you can access.`
  if (status === 400) return `${optionFor(param, around)}See \`uk ${commandIn(around)} --help\`.`
  if (status >= 500) return 'Try again. If it keeps failing, send your administrator the request ID.'
  return undefined
}
