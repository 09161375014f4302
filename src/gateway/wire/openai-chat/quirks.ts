import type { Word } from '../../json-scan/json-scan.ts'
import { type Body, mention } from '../../model/body.ts'
import { type Effort, efforts as scale } from '../shared/effort.ts'
import type { Target } from '../shared/target.ts'

/** The names that a bound of the output has in this shape, the newer one first. */
export const limitNames = ['max_completion_tokens', 'max_tokens'] as const
type Limit = (typeof limitNames)[number]

/** How providers of this shape differ from OpenAI's chat. */
export interface Quirks {
  /** The fields that bound the output: it is told by the first, and a client may have used any of them. */
  limits: readonly Limit[]
  /**
   * How thinking is asked for. effort: `reasoning_effort`. thinking: `thinking: {type}`, and the effort beside it.
   * switch: the same without an effort. enabled: `reasoning: {enabled}`. openrouter: `reasoning` as OpenRouter has it.
   */
  reasoning: 'effort' | 'thinking' | 'switch' | 'enabled' | 'openrouter'
  /** The efforts that are known; null: all, or nobody knows. Another one becomes the next stronger, else the strongest. */
  efforts: readonly Effort[] | null
  /** Refuses every other effort, in requests of clients too. */
  refusesEfforts: boolean
  /** Reads messages of role `developer`; others refuse them or drop them without a word. `system` says the same. */
  developer: boolean
  /** Refuses a history with a call whose arguments are an empty text, as streams leave them. */
  refusesEmptyCalls: boolean
  /** Its answers have `reasoning` in the place of `reasoning_content`, no `refusal` and no `logprobs`. */
  ownAnswers: boolean
  /** Wants its plain reasoning back with the calls that followed it. */
  echoesReasoning: boolean
  /** Takes `reasoning_details` with signatures, cache marks on parts, and says what a call cost. */
  openrouter: boolean
  /** Takes `top_k`. */
  topK: boolean
  /** Takes `strict` of tools and schemas. */
  strict: boolean
  /** Takes `stream_options`, without which most say nothing of usage in a stream. */
  streamOptions: boolean
  /** What ids of tool calls must be: up to 40 of a–z, A–Z, 0–9, _ and -, or exactly nine letters and digits. */
  callIds: 'usual' | 'nine'
  /** Takes `verbosity` and `prompt_cache_key`, which are OpenAI's own. */
  openai: boolean
  /** Refuses messages with reasoning in them, which clients send back as they got it. */
  refusesReasoning: boolean
  /** Refuses sampling fields while it reasons. */
  fixedSampling: boolean
}

const usual: Quirks = {
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
  openai: false,
  refusesReasoning: false,
  fixedSampling: false,
}

interface Row extends Partial<Quirks> {
  /** Null: a server that nobody named. */
  preset: string | null
  /** Only these models; later rows add to earlier ones. */
  model?: RegExp
}

const openaiReasons = { openai: true, limits: limitNames, fixedSampling: true, developer: true } as const
/** Documents the newer name of the limit, and reads both. */
const bothLimits = { limits: ['max_tokens', 'max_completion_tokens'] } as const

/**
 * What is known, and where from. [p]: the `compat` and `thinkingLevelMap` data of @earendil-works/pi-ai 1.5.2
 * (2026-11-10). A provider or a field that no row names is not known to differ: it is asked as OpenAI is.
 */
const rows: readonly Row[] = [
  // OpenAI's reasoning models refuse the older limit and any sampling (compat.md 7.2).
  { preset: 'openai', ...openaiReasons },
  { preset: 'azure', ...openaiReasons },
  // Whoever serves them, they take no other name: a server that knows them reads it.
  { preset: null, model: /(?:^|\/)(?:o[1-9]|gpt-[5-9])/, limits: limitNames },
  // openrouter.ai/docs, OpenAPI of 2026-08-22. The role `developer` is refused for most authors' models: [p].
  { preset: 'openrouter', reasoning: 'openrouter', openrouter: true, openai: true, topK: true, ...bothLimits },
  { preset: 'openrouter', model: /^~?(?:openai|anthropic)\//, developer: true },
  // `Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9`: anomalyco/opencode#1680. Efforts: [p].
  // `extra_forbidden` for `reasoning_content`: charmbracelet/crush#1590.
  { preset: 'mistral', callIds: 'nine', efforts: ['none', 'high'], refusesReasoning: true },
  { preset: 'mistral', model: /mistral-large-4/, efforts: ['low', 'medium', 'high'] },
  { preset: 'mistral', model: /glm-5-3/, efforts: ['low', 'high', 'max'] },
  // Efforts: [p]. `property 'reasoning_content' is unsupported`: SimonSchubert/Kai#265.
  { preset: 'groq', efforts: ['low', 'medium', 'high'], refusesReasoning: true, ...bothLimits },
  { preset: 'groq', model: /qwen/, efforts: ['none', 'low', 'medium', 'high'] },
  // docs.together.ai/docs/inference/chat/reasoning: most models are switched, gpt-oss has efforts. `strict`: [p].
  { preset: 'together', reasoning: 'enabled', strict: false, topK: true },
  { preset: 'together', model: /gpt-oss/, reasoning: 'effort', efforts: ['low', 'medium', 'high'] },
  // [p]
  { preset: 'fireworks', efforts: ['low', 'high', 'max'], topK: true },
  { preset: 'fireworks', model: /kimi/, echoesReasoning: true },
  // api-docs.deepseek.com/guides/thinking_mode (2026-11).
  { preset: 'deepseek', reasoning: 'thinking', efforts: ['low', 'high', 'max'], echoesReasoning: true },
  // [p]
  { preset: 'xai', efforts: ['low', 'medium', 'high', 'xhigh'], ...bothLimits },
  { preset: 'xai', model: /grok-4\.3/, efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
  // strandsagents.com, Cohere: the compatibility API rejects `stream_options`.
  { preset: 'cohere', streamOptions: false },
  // Efforts: [p]. The same words as Groq's: Kilo-Org/kilocode#10375.
  { preset: 'cerebras', efforts: ['low', 'medium', 'high'], refusesReasoning: true, ...bothLimits },
  { preset: 'cerebras', model: /qwen/, efforts: ['none', 'low', 'medium', 'high'] },
  { preset: 'moonshotai', reasoning: 'switch', strict: false, echoesReasoning: true },
  { preset: 'moonshotai', model: /kimi-k3/, reasoning: 'effort', efforts: ['low', 'high', 'max'] },
  { preset: 'zai', reasoning: 'switch' },
  // openai/openai.go of ollama/ollama (2026-08), ollama/ollama#18305: `max_tokens` alone is read, `developer` is dropped.
  {
    preset: 'ollama',
    efforts: ['none', 'low', 'medium', 'high', 'max'],
    refusesEfforts: true,
    refusesEmptyCalls: true,
    ownAnswers: true,
  },
]

export function quirksOf({ preset, model }: Pick<Target, 'preset' | 'model'>): Quirks {
  const name = model.toLowerCase()
  const known = rows.filter((row) => row.preset === preset && (row.model === undefined || row.model.test(name)))
  if (known.length === 0) return usual
  const { preset: _, model: __, ...quirks } = Object.assign({}, usual, ...known) as Quirks & Row
  return quirks
}

/** The names of the limit that this model's vendor reads: it is told by the first. */
export const limitsOf = (quirks: Quirks, capabilities: readonly string[]): readonly Limit[] =>
  quirks.fixedSampling && capabilities.includes('reasoning') ? quirks.limits.slice(0, 1) : quirks.limits

const silent: ReadonlySet<string | null> = new Set(
  rows.filter((row) => row.streamOptions === false).map(({ preset }) => preset),
)

/** These refuse any field of a message that they do not know. */
const averse: ReadonlySet<string | null> = new Set(
  rows.filter((row) => row.refusesReasoning).map(({ preset }) => preset),
)

/** What becomes of marks for a cache, as OpenRouter's clients write them: sent on, in OpenAI's own word, or refused with the request. */
export type Marks = 'kept' | 'breakpoints' | 'refused'

export function marksFor(preset: string | null): Marks {
  if (preset === 'openai' || preset === 'azure') return 'breakpoints'
  return preset !== null && averse.has(preset) ? 'refused' : 'kept'
}

/** Whether a stream may be asked what it used. */
export const takesStreamOptions = (preset: string | null): boolean => preset === null || !silent.has(preset)

/** Whether the provider would refuse these messages of a client, because of reasoning that it sends back. */
export const refusesHistory = (preset: string | null, body: Body): boolean =>
  preset !== null &&
  averse.has(preset) &&
  body.mentions(mention.reasoning) &&
  (body.includes('"reasoning_content"') || body.includes('"reasoning_details"') || body.includes('"reasoning":"'))

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
