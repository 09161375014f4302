import type { Effort } from './effort.ts'

/** Newest first. */
export const limitNames = ['max_completion_tokens', 'max_tokens'] as const
export type Limit = (typeof limitNames)[number]

export type RoleOrder = Readonly<Record<'system' | 'user' | 'assistant' | 'tool', readonly string[]>>

/** The order that Mistral checks: `_validate_message_order` in mistralai/mistral-common, validator.py. */
export const mistralOrder: RoleOrder = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
}

export interface ChatQuirks {
  /** Accepted names of the output limit. The first is sent. */
  limits: readonly Limit[]
  /**
   * How thinking is requested. `effort`: `reasoning_effort`. `thinking`: `thinking: {type}` plus the effort. `switch`:
   * the same without an effort. `enabled`: `reasoning: {enabled}`. `object`: OpenRouter's `reasoning`.
   */
  reasoning: 'effort' | 'thinking' | 'switch' | 'enabled' | 'object'
  /**
   * Supported efforts; null means all, or unknown. An unsupported effort becomes the next higher one, or else the
   * highest.
   */
  efforts: readonly Effort[] | null
  refusesEfforts: boolean
  /** Accepts messages of role `developer`. Other providers reject them or drop them silently, so they get `system`. */
  developer: boolean
  /** Rejects a history with a call whose arguments are an empty string, which streams produce. */
  refusesEmptyCalls: boolean
  /** Answers with `reasoning` instead of `reasoning_content`, without `refusal` and `logprobs`. */
  ownAnswers: boolean
  /** Requires its plain reasoning back with the calls that followed it. */
  echoesReasoning: boolean
  /** Accepts `reasoning_details` with signatures and cache marks on parts, and reports costs. */
  openrouter: boolean
  topK: boolean
  strict: boolean
  /** Accepts `stream_options`, without which most providers report no usage in streams. */
  streamOptions: boolean
  /**
   * Accepted IDs of tool calls. `usual`: up to 40 characters of a–z, A–Z, 0–9, _ and -. `nine`: exactly nine letters
   * and digits.
   */
  callIds: 'usual' | 'nine'
  /** The roles that may follow one another; null means any, as at OpenAI. */
  order: RoleOrder | null
  files: boolean
  openai: boolean
  /** Rejects messages with reasoning, which clients send back as they received it. */
  refusesReasoning: boolean
  fixedSampling: boolean
}

/** Without `model`: all models of a provider. Later rows override earlier ones. */
export interface ModelQuirks extends Partial<ChatQuirks> {
  model?: RegExp
}

/** Absent fields: no known difference from the vendor of the shape. */
export interface ProviderQuirks {
  chat?: readonly ModelQuirks[]
  /** In Anthropic's shape, models other than Claude take an effort instead of a thinking budget. */
  adaptiveThinking?: true
  /** Reasoning models reject sampling fields in OpenAI's Responses API. */
  fixedSampling?: true
}

/** OpenAI's own Chat Completions API, and services that host it. */
export const openaiReasoning: ModelQuirks = { openai: true, limits: limitNames, fixedSampling: true, developer: true }
export const bothLimits = { limits: ['max_tokens', 'max_completion_tokens'] } as const
