import type { Effort } from './effort.ts'

/** The names that a bound of the output has in this shape, the newer one first. */
export const limitNames = ['max_completion_tokens', 'max_tokens'] as const
export type Limit = (typeof limitNames)[number]

/** The roles that may follow each role. */
export type RoleOrder = Readonly<Record<'system' | 'user' | 'assistant' | 'tool', readonly string[]>>

/** The order that Mistral checks (`_validate_message_order` of mistralai/mistral-common, validator.py). */
export const mistralOrder: RoleOrder = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
}

/** The differences of a provider's chat from OpenAI's. */
export interface ChatQuirks {
  /** The fields that bound the output: it is told by the first, and a client may have used any of them. */
  limits: readonly Limit[]
  /**
   * The field that asks for thinking. effort: `reasoning_effort`. thinking: `thinking: {type}`, and the effort beside it.
   * switch: the same without an effort. enabled: `reasoning: {enabled}`. object: `reasoning` as OpenRouter has it.
   */
  reasoning: 'effort' | 'thinking' | 'switch' | 'enabled' | 'object'
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
  /** The form that ids of tool calls must have: up to 40 of a–z, A–Z, 0–9, _ and -, or exactly nine letters and digits. */
  callIds: 'usual' | 'nine'
  /** The roles that may follow one another; null: any, as at OpenAI. */
  order: RoleOrder | null
  /** Takes files; others take text and pictures alone. */
  files: boolean
  /** Takes `verbosity` and `prompt_cache_key`, which are OpenAI's own. */
  openai: boolean
  /** Refuses messages with reasoning in them, which clients send back as they got it. */
  refusesReasoning: boolean
  /** Refuses sampling fields while it reasons. */
  fixedSampling: boolean
}

/** Of all of a provider's models, or of those alone that `model` names: later rows add to earlier ones. */
export interface ModelQuirks extends Partial<ChatQuirks> {
  model?: RegExp
}

/** The differences of a provider from the vendor whose shape it has. What no field says is not known to differ. */
export interface ProviderQuirks {
  chat?: readonly ModelQuirks[]
  /** In Anthropic's shape, models that are no Claude are asked to think by an effort instead of a budget. */
  adaptiveThinking?: true
  /** Reasoning models refuse sampling fields in OpenAI's Responses API. */
  fixedSampling?: true
}

/** OpenAI's own chat, and that of who serves it. */
export const openaiReasoning: ModelQuirks = { openai: true, limits: limitNames, fixedSampling: true, developer: true }
/** Documents the newer name of the limit, and reads both. */
export const bothLimits = { limits: ['max_tokens', 'max_completion_tokens'] } as const
