import { isObject } from './shapes/json.ts'

/** Bytes of text that a model reads, and of what is media or names where it lies. */
export interface Weight {
  text: number
  media: number
}

/** What a request says to the vendor's machinery, and no model reads. */
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

/** Words of the wire, which a vendor's template turns to tokens of its own: they are in what each message adds. */
const WORDS: ReadonlySet<string> = new Set(['type', 'role', 'status', 'detail', 'media_type', 'mimeType', 'ttl'])
const LONGEST_WORD = 40

/** Objects under these keys are somebody's own JSON, whose names are read as well: schemas, and what tools are called with. */
const JSON_TEXT: ReadonlySet<string> = new Set(
  `parameters input_schema inputSchema parametersJsonSchema schema responseSchema responseJsonSchema args arguments input
  output response json`.split(/\s+/),
)

/** What a template puts around a message: the role and the marks of its beginning and end. */
const PER_MESSAGE = 4
const MESSAGES: ReadonlySet<string> = new Set(['messages', 'contents', 'input'])

/**
 * A body of any surface, or a Turn. No tokeniser makes more tokens of a text than it has bytes, so the bytes of all that a
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

function add(value: unknown, key: string, seen: Weight): void {
  if (typeof value === 'string') {
    if (MEDIA.has(key)) seen.media += value.length
    else if (!WORDS.has(key) || value.length > LONGEST_WORD) seen.text += Buffer.byteLength(value)
  } else if (Array.isArray(value)) {
    for (const item of value)
      // A token's own number, in input for embeddings.
      if (typeof item === 'number') seen.text += 1
      else add(item, typeof item === 'string' ? key : '', seen)
  } else if (value !== null && typeof value === 'object') {
    if (JSON_TEXT.has(key)) seen.text += Buffer.byteLength(JSON.stringify(value))
    else for (const name in value) add((value as Record<string, unknown>)[name], name, seen)
  }
}
