import type { Word } from '#packages/json-scan/json-scan.ts'
import { type Body, mention } from '../body.ts'
import { isObject } from '../json.ts'

export interface Weight {
  text: number
  media: number
}

/** Fields for the vendor's machinery that no model reads. */
const UNREAD: ReadonlySet<string> = new Set(
  `model models user metadata safety_identifier prompt_cache_key cache_key session_id trace provider route store stream
  stream_options service_tier reasoning_effort verbosity include truncation modalities usage logit_bias stop stop_sequences
  tool_choice encoding_format anthropic_version betas inference_geo`.split(/\s+/),
)

/** Strings under these keys are media or their addresses, not text. */
const MEDIA: ReadonlySet<string> = new Set([
  'data',
  'url',
  'image_url',
  'file_data',
  'file_url',
  'fileUri',
  'file_id',
  'previous_response_id',
])

/** A body without these names contains no media: strings, and lists of results of vendor tools. */
export const mediaWords: Readonly<Record<string, Word>> = Object.fromEntries(
  [...MEDIA, 'results', 'outputs', 'annotations', 'citations'].map((name) => [name, { name: mention.media }]),
)

/** Protocol words that the vendor's template turns into its own tokens, which the per-message overhead covers. */
const WORDS: ReadonlySet<string> = new Set(['type', 'role', 'status', 'detail', 'media_type', 'mimeType', 'ttl'])
const LONGEST_WORD = 40

/**
 * Field names of the shapes, which no model reads. Other names, such as keys of an environment or an example, may be
 * the user's own and count. A name missing here adds a few tokens too many, never too few.
 */
const NAMES: ReadonlySet<string> = new Set(
  `type role status detail media_type mimeType ttl id name content text parts thought thoughtSignature signature thinking
  summary summary_text encrypted_content encryptedContent redacted reasoning reasoning_content reasoning_details format
  index refusal annotations citations cache_control cachePoint caller data url uri image_url file file_id file_data file_url
  filename fileUri fileData file_name inlineData input_audio audio image video source title context document bytes
  tool_calls tool_call_id tool_use_id toolUseId toolUse toolResult call_id function function_call functionCall
  functionResponse functionDeclarations toolSpec tools description parameters parametersJsonSchema input_schema inputSchema
  input_examples strict schema json_schema json arguments args input output response is_error isError custom definition
  syntax grammar enabled defer_loading allowed_callers phase system budget_tokens effort max_tokens include_thoughts
  includeThoughts thinkingConfig thinkingBudget thinkingLevel responseMimeType responseJsonSchema responseSchema
  generationConfig generation_config inferenceConfig maxOutputTokens temperature topP topK stopSequences`.split(/\s+/),
)

/** Objects under these keys are the user's own JSON, whose names are read as well: schemas and tool arguments. */
const JSON_TEXT: ReadonlySet<string> = new Set(
  `parameters input_schema inputSchema parametersJsonSchema schema responseSchema responseJsonSchema args arguments input
  output response json input_examples`.split(/\s+/),
)

/** Tokens that a template puts around a message: its role and start and end markers. */
const PER_MESSAGE = 4
const MESSAGES: ReadonlySet<string> = new Set(['messages', 'contents', 'input'])

/**
 * No tokenizer produces more tokens than the text has bytes, so the bytes of everything a model may read are an upper
 * bound.
 */
export function weigh(body: object): Weight {
  const weight = { text: 0, media: 0 }
  for (const [name, value] of Object.entries(body)) {
    if (UNREAD.has(name)) continue
    if (MESSAGES.has(name) && Array.isArray(value))
      for (const item of value) if (isObject(item)) weight.text += PER_MESSAGE
    add(value, name, weight)
  }
  return weight
}

/**
 * An upper bound without parsing: escapes, punctuation, and the protocol's names count too. Null: the body may contain
 * media, or wasn't scanned.
 */
export const roughText = (body: Body): number | null => (body.mentions(mention.media) ? null : body.sizeWithout(UNREAD))

const LISTS: ReadonlySet<string> = new Set(['input', 'output'])

function add(value: unknown, key: string, weight: Weight): void {
  if (typeof value === 'string') {
    if (MEDIA.has(key)) weight.media += value.length
    else if (!WORDS.has(key) || value.length > LONGEST_WORD) weight.text += Buffer.byteLength(value)
  } else if (value === null || typeof value !== 'object') return
  else if (JSON_TEXT.has(key) && !(Array.isArray(value) && LISTS.has(key)))
    weight.text += Buffer.byteLength(JSON.stringify(value))
  else if (Array.isArray(value)) {
    for (const item of value)
      // A token number, in input for embeddings.
      if (typeof item === 'number') weight.text += 1
      else add(item, typeof item === 'string' ? key : '', weight)
  } else
    for (const name in value) {
      const field = (value as Record<string, unknown>)[name]
      if (!NAMES.has(name))
        weight.text += Buffer.byteLength(name) + (typeof field === 'number' ? String(field).length : 0)
      add(field, name, weight)
    }
}

/** Estimates the input if the provider reported no figure: four bytes per token. */
export function guessInput(json: Record<string, unknown>): number {
  const { messages, system, input, instructions, tools } = json
  const weight = weigh({ messages, system, input, instructions, tools })
  return Math.ceil(weight.text / 4)
}
