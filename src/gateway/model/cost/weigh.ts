import type { Word } from '../../json-scan/json-scan.ts'
import { type Body, mention } from '../body.ts'
import { isObject } from '../json.ts'

/** Bytes of text that a model reads, and of what is media or names where it lies. */
export interface Weight {
  text: number
  media: number
}

/** Fields that speak to the vendor's machinery, and that no model reads. */
const UNREAD: ReadonlySet<string> = new Set(
  `model models user metadata safety_identifier prompt_cache_key cache_key session_id trace provider route store stream
  stream_options service_tier reasoning_effort verbosity include truncation modalities usage logit_bias stop stop_sequences
  tool_choice encoding_format anthropic_version betas inference_geo`.split(/\s+/),
)

/** Strings under these keys are media or where it lies, not text. */
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

/** Names without which a body holds no media: strings, and lists of what a vendor's tools found. */
export const mediaWords: Readonly<Record<string, Word>> = Object.fromEntries(
  [...MEDIA, 'results', 'outputs', 'annotations', 'citations'].map((name) => [name, { name: mention.media }]),
)

/** Words of the wire, which a vendor's template turns to tokens of its own: they are in what each message adds. */
const WORDS: ReadonlySet<string> = new Set(['type', 'role', 'status', 'detail', 'media_type', 'mimeType', 'ttl'])
const LONGEST_WORD = 40

/**
 * Names of fields as the shapes have them, which no model reads. Another name may be somebody's own, as those of an
 * environment or of an example are, and counts: a list that lacks one holds a few tokens too many, never too few.
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

/** Objects under these keys are somebody's own JSON, whose names are read as well: schemas, and what tools are called with. */
const JSON_TEXT: ReadonlySet<string> = new Set(
  `parameters input_schema inputSchema parametersJsonSchema schema responseSchema responseJsonSchema args arguments input
  output response json input_examples`.split(/\s+/),
)

/** Tokens that a template puts around a message: the role and the marks of its beginning and end. */
const PER_MESSAGE = 4
const MESSAGES: ReadonlySet<string> = new Set(['messages', 'contents', 'input'])

/**
 * A body of any surface, or a CanonicalRequest. No tokeniser makes more tokens of a text than it has bytes, so the bytes of all that a
 * model may read bound its tokens: contents, names, descriptions, schemas and arguments; not the wire's own field names.
 */
export function weigh(body: object): Weight {
  const seen = { text: 0, media: 0 }
  for (const [name, value] of Object.entries(body)) {
    if (UNREAD.has(name)) continue
    if (MESSAGES.has(name) && Array.isArray(value))
      for (const item of value) if (isObject(item)) seen.text += PER_MESSAGE
    add(value, name, seen)
  }
  return seen
}

/**
 * A bound on the text that `weigh` finds, of a body that is not parsed for it and so no smaller: escapes, punctuation
 * and the wire's own names count too. Null: it may hold media, or nobody scanned it.
 */
export const roughText = (body: Body): number | null => (body.mentions(mention.media) ? null : body.sizeWithout(UNREAD))

/** Lists under these are of messages or their parts. */
const LISTS: ReadonlySet<string> = new Set(['input', 'output'])

function add(value: unknown, key: string, seen: Weight): void {
  if (typeof value === 'string') {
    if (MEDIA.has(key)) seen.media += value.length
    else if (!WORDS.has(key) || value.length > LONGEST_WORD) seen.text += Buffer.byteLength(value)
  } else if (value === null || typeof value !== 'object') return
  else if (JSON_TEXT.has(key) && !(Array.isArray(value) && LISTS.has(key)))
    seen.text += Buffer.byteLength(JSON.stringify(value))
  else if (Array.isArray(value)) {
    for (const item of value)
      // A token's own number, in input for embeddings.
      if (typeof item === 'number') seen.text += 1
      else add(item, typeof item === 'string' ? key : '', seen)
  } else
    for (const name in value) {
      const held = (value as Record<string, unknown>)[name]
      if (!NAMES.has(name)) seen.text += Buffer.byteLength(name) + (typeof held === 'number' ? String(held).length : 0)
      add(held, name, seen)
    }
}

/** A fair guess where the provider gave no figure: four bytes a token. */
export function guessInput(json: Record<string, unknown>): number {
  const { messages, system, input, instructions, tools } = json
  const seen = weigh({ messages, system, input, instructions, tools })
  return Math.ceil(seen.text / 4)
}
