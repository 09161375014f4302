import type { Word } from '../../json-scan/json-scan.ts'
import { type Body, mention } from '../../model/body.ts'
import { isObject, listOf } from '../../model/json.ts'
import { type Effort, efforts as scale } from '../shared/effort.ts'
import { type ModelQuirks, type ChatQuirks, type Limit, limitNames, mistralOrder } from '../shared/quirks.ts'
import type { Target } from '../shared/target.ts'

/** The quirks assumed of a provider that nobody knows, and of fields that nothing is known of. */
const usual: ChatQuirks = {
  limits: ['max_tokens'],
  reasoning: 'effort',
  efforts: null,
  refusesEfforts: false,
  developer: false,
  refusesEmptyCalls: false,
  ownAnswers: false,
  echoesReasoning: false,
  openrouter: false,
  topK: false,
  strict: true,
  streamOptions: true,
  callIds: 'usual',
  order: null,
  files: true,
  openai: false,
  refusesReasoning: false,
  fixedSampling: false,
}

/** A server that nobody named: OpenAI's models take no other name of the limit whoever serves them, and a server that knows them reads it. */
const unnamed: readonly ModelQuirks[] = [{ model: /(?:^|\/)(?:o[1-9]|gpt-[5-9])/, limits: limitNames }]

/** Mistral's models check the order of roles wherever they are served (NousResearch/hermes-agent#20154, charmbracelet/crush#279). */
const everywhere: readonly ModelQuirks[] = [
  { model: /(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral)/, order: mistralOrder },
]

export function quirksOf({ provider, model }: Pick<Target, 'provider' | 'model'>): ChatQuirks {
  const name = model.toLowerCase()
  const rows = [...everywhere, ...(provider === null ? unnamed : (provider.chat ?? []))]
  const known = rows.filter((row) => row.model === undefined || row.model.test(name))
  if (known.length === 0) return usual
  const { model: _, ...quirks } = Object.assign({}, usual, ...known) as ChatQuirks & ModelQuirks
  return quirks
}

/** The names of the limit that this model's vendor reads: it is told by the first. */
export const limitsOf = (quirks: ChatQuirks, capabilities: readonly string[]): readonly Limit[] =>
  quirks.fixedSampling && capabilities.includes('reasoning') ? quirks.limits.slice(0, 1) : quirks.limits

/** Whether messages of a client hold reasoning that it sends back. */
export const holdsReasoning = (body: Body): boolean =>
  body.mentions(mention.reasoning) &&
  listOf(body.value('messages')).some(
    (message) =>
      isObject(message) &&
      (typeof message['reasoning'] === 'string' || 'reasoning_content' in message || 'reasoning_details' in message),
  )

/** Names without which a chat holds no reasoning. */
export const reasoningWords: Readonly<Record<string, Word>> = {
  reasoning: { name: mention.reasoning },
  reasoning_content: { name: mention.reasoning },
  reasoning_details: { name: mention.reasoning },
}

/** The effort itself where it is known, else the next stronger that is, else the strongest. Null: thinking cannot be turned off. */
export function effortFor(wanted: Effort, known: readonly Effort[] | null): Effort | null {
  if (known === null || known.includes(wanted)) return wanted
  if (wanted === 'none') return null
  const stronger = known.filter((one) => one !== 'none' && scale.indexOf(one) > scale.indexOf(wanted))
  return stronger[0] ?? known.at(-1)!
}
