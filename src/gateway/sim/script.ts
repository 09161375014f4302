import { type Usage, usageFields } from '#core/usage.ts'
import { faultKinds, type FaultKind, type CanonicalMessage } from '../model/canonical-request.ts'
import { isObject, type Json, parseJson } from '../model/json.ts'
import { kindOf, kindOfWord } from '../wire/faults/faults.ts'

export type Step =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool_call'; name: string; arguments: string }
  | { type: 'delay'; ms: number }
  | { type: 'error'; kind: FaultKind; message: string; status: number | null }

export interface Script {
  turns: Step[][]
  /** Reported instead of the counted usage, bucket by bucket. */
  usage: Partial<Omit<Usage, 'total_tokens'>> | null
}

export const MAX_STEPS = 10_000
export const LONGEST_DELAY_MS = 600_000

export class ScriptMistake extends Error {
  override name = 'ScriptMistake'
}
const mistake = (message: string): never => {
  throw new ScriptMistake(`sim/script: ${message}`)
}

/**
 * By the contract, the last user message contains the script, and turn k runs when k assistant messages follow it;
 * after the last turn, nothing. Throws a ScriptMistake.
 */
export function stepsNow(messages: CanonicalMessage[]): { steps: Step[]; usage: Script['usage'] } {
  const at = scriptAt(messages)
  if (at === -1) mistake('there is no user message to run.')
  const { turns, usage } = readScript(scriptIn(messages[at]!))
  const turnIndex = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length
  return { steps: turns[turnIndex] ?? [], usage }
}

function scriptAt(messages: CanonicalMessage[]): number {
  let at = messages.findLastIndex(({ role }) => role === 'user')
  while (at > 0 && messages[at - 1]!.role === 'tool' && !isScript(scriptIn(messages[at]!))) {
    const before = messages.slice(0, at).findLastIndex(({ role }) => role === 'user')
    if (before === -1) break
    at = before
  }
  return at
}

const isScript = (value: unknown): boolean => isObject(value) && ('turns' in value || 'steps' in value)

/** All of the message's text, or the last part that is a script, for clients that add other parts. */
function scriptIn({ content }: CanonicalMessage): unknown {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const whole = parseJson(texts.join(''))
  return whole ?? texts.map(parseJson).findLast(isScript)
}

function readScript(value: unknown): Script {
  if (value === undefined)
    return mistake('the last user message must be JSON: {"turns": [[step, …], …], "usage"?} or {"steps": [step, …]}.')
  if (!isObject(value)) return mistake('the last user message must be a JSON object with `turns` or `steps`.')
  for (const name of Object.keys(value)) {
    if (name !== 'turns' && name !== 'steps' && name !== 'usage')
      mistake(`\`${name}\` isn’t supported. A script has \`turns\` or \`steps\`, and \`usage\`.`)
  }
  if (value['turns'] !== undefined && value['steps'] !== undefined) mistake('`turns` and `steps` can’t be combined.')
  const turns = value['steps'] !== undefined ? [readSteps(value['steps'], 'steps')] : readTurns(value['turns'])
  if (turns.reduce((sum, steps) => sum + steps.length, 0) > MAX_STEPS)
    mistake(`a script can have up to ${MAX_STEPS} steps.`)
  return { turns, usage: readUsage(value['usage']) }
}

function readTurns(value: unknown): Step[][] {
  if (!Array.isArray(value)) return mistake('`turns` must be an array of arrays of steps.')
  return value.map((steps, i) => readSteps(steps, `turns.${i}`))
}

function readSteps(value: unknown, at: string): Step[] {
  if (!Array.isArray(value)) return mistake(`\`${at}\` must be an array of steps.`)
  return value.map((step, i) => readStep(step, `${at}.${i}`))
}

function readStep(source: unknown, at: string): Step {
  const [name, ...more] = isObject(source) ? Object.keys(source) : []
  if (!isObject(source) || name === undefined || more.length > 0) {
    return mistake(`\`${at}\` must have exactly one of text, reasoning, tool_call, delay_ms and error.`)
  }
  const value = source[name]
  const here = `${at}.${name}`
  switch (name) {
    case 'text':
    case 'reasoning':
      return { type: name, text: wordsAt(value, here) }
    case 'tool_call': {
      if (!isObject(value)) return mistake(`\`${here}\` must be {name, arguments}.`)
      const toolName = wordsAt(value['name'], `${here}.name`)
      if (toolName === '') mistake(`\`${here}.name\` must not be empty.`)
      const words = value['arguments'] ?? {}
      // A string is sent unchanged, so that a script can contain broken arguments.
      return { type: 'tool_call', name: toolName, arguments: typeof words === 'string' ? words : JSON.stringify(words) }
    }
    case 'delay_ms':
      if (typeof value === 'number' && value >= 0 && value <= LONGEST_DELAY_MS) return { type: 'delay', ms: value }
      return mistake(`\`${here}\` must be a number from 0 to ${LONGEST_DELAY_MS}.`)
    case 'error':
      return readError(value, here)
    default:
      return mistake(`\`${here}\` isn’t supported. A step has one of text, reasoning, tool_call, delay_ms and error.`)
  }
}

function readError(value: unknown, at: string): Step {
  if (!isObject(value)) return mistake(`\`${at}\` must be {type, message, status?}.`)
  const word = wordsAt(value['type'], `${at}.type`)
  const message = wordsAt(value['message'], `${at}.message`)
  const status = value['status'] ?? null
  if (status !== null && !(Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599)) {
    return mistake(`\`${at}.status\` must be a status from 400 to 599.`)
  }
  const one = faultKinds.find((kind) => kind === word)
  const byStatus = status === null ? null : kindOf(Number(status), `${word} ${message}`)
  return {
    type: 'error',
    kind: one ?? byStatus ?? kindOfWord(word) ?? 'server_error',
    message,
    status: status === null ? null : Number(status),
  }
}

const buckets = usageFields.filter((name) => name !== 'total_tokens')

function readUsage(source: unknown): Script['usage'] {
  if (source === undefined || source === null) return null
  if (!isObject(source)) return mistake('`usage` must be an object of token counts.')
  const usage: Record<string, number> = {}
  for (const [name, value] of Object.entries(source satisfies Json)) {
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
      return mistake(`\`usage.${name}\` must be a number of at least 0.`)
    if (name === 'total_tokens') continue
    if (!(buckets as readonly string[]).includes(name))
      return mistake(`\`usage.${name}\` isn’t supported. It can have ${buckets.join(', ')}.`)
    if (name !== 'audio_seconds' && name !== 'video_seconds' && !Number.isInteger(value))
      return mistake(`\`usage.${name}\` must be a whole number.`)
    usage[name] = value
  }
  return usage
}

const wordsAt = (value: unknown, at: string): string =>
  typeof value === 'string' ? value : mistake(`\`${at}\` must be a string.`)
