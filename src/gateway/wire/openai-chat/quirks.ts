import type { Word } from '#packages/json-scan/json-scan.ts'
import { type Body, mention } from '../../model/body.ts'
import { isObject, listOf } from '../../model/json.ts'
import { type Effort, efforts as scale } from '../shared/effort.ts'
import { type ModelQuirks, type ChatQuirks, type Limit, limitNames, mistralOrder } from '../shared/quirks.ts'
import type { Target } from '../shared/target.ts'

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

/** OpenAI's newer models only accept the new name wherever they are hosted, and a server that knows them reads it. */
const unknownServer: readonly ModelQuirks[] = [{ model: /(?:^|\/)(?:o[1-9]|gpt-[5-9])/, limits: limitNames }]

/**
 * Mistral's models check the order of roles wherever they are hosted (NousResearch/hermes-agent#20154,
 * charmbracelet/crush#279).
 */
const everywhere: readonly ModelQuirks[] = [
  { model: /(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral)/, order: mistralOrder },
]

export function quirksOf({ provider, model }: Pick<Target, 'provider' | 'model'>): ChatQuirks {
  const name = model.toLowerCase()
  const rows = [...everywhere, ...(provider === null ? unknownServer : (provider.chat ?? []))]
  const matches = rows.filter((row) => row.model === undefined || row.model.test(name))
  if (matches.length === 0) return usual
  const { model: _, ...quirks } = Object.assign({}, usual, ...matches) as ChatQuirks & ModelQuirks
  return quirks
}

/** The first is sent. */
export const limitsOf = (quirks: ChatQuirks, capabilities: readonly string[]): readonly Limit[] =>
  quirks.fixedSampling && capabilities.includes('reasoning') ? quirks.limits.slice(0, 1) : quirks.limits

export const holdsReasoning = (body: Body): boolean =>
  body.mentions(mention.reasoning) &&
  listOf(body.value('messages')).some(
    (message) =>
      isObject(message) &&
      (typeof message['reasoning'] === 'string' || 'reasoning_content' in message || 'reasoning_details' in message),
  )

export const reasoningWords: Readonly<Record<string, Word>> = {
  reasoning: { name: mention.reasoning },
  reasoning_content: { name: mention.reasoning },
  reasoning_details: { name: mention.reasoning },
}

/** The next higher supported effort, or the highest. Null: thinking can't be turned off. */
export function effortFor(requested: Effort, supported: readonly Effort[] | null): Effort | null {
  if (supported === null || supported.includes(requested)) return requested
  if (requested === 'none') return null
  const stronger = supported.filter((one) => one !== 'none' && scale.indexOf(one) > scale.indexOf(requested))
  return stronger[0] ?? supported.at(-1)!
}
