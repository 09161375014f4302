// Documented checks of the contents of a request beyond its fields. Each returns the first error.
import type { Json } from '../vendor.ts'
import { schemaFault, type SchemaRule } from './schemas.ts'

export type StrictShape = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock'

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])

/** `input_schema does not support oneOf, allOf, or anyOf at the top level`: anthropics/claude-code#27337. */
const anthropicSchema: SchemaRule = { refused: ['anyOf', 'oneOf', 'allOf'], names: /^[a-zA-Z0-9_.-]{1,64}$/ }
/** `schema must have type 'object' and not have …`: langchain-ai/langchainjs#9804. */
const openaiSchema: SchemaRule = { refused: ['anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not'] }
/** Nova user guide, tool use: "Only three fields are supported in the top-level object". */
const bedrockSchema: SchemaRule = { only: ['type', 'properties', 'required'] }
/** ai.google.dev/api/caching, FunctionDeclaration. */
const geminiSchema: SchemaRule = {
  keywords:
    `$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum
  anyOf oneOf properties additionalProperties required propertyOrdering`.split(/\s+/),
  noBooleans: true,
  loneReferences: true,
}

/** The first error of a request for a vendor of this shape; null: accepted. */
export function strictFault(shape: StrictShape, body: Json): string | null {
  return illFormed(body, '') ?? checks[shape](body)
}

const checks: Record<StrictShape, (body: Json) => string | null> = {
  anthropic: (body) => first(list(body['tools']), anthropicTool) ?? first(blocksOf(body), anthropicBlock),
  'openai-chat': (body) =>
    first(list(body['tools']), (tool) => schemaFault(tool['function']?.parameters ?? {}, openaiSchema)) ??
    first(list(body['messages']), chatMessage),
  'openai-responses': (body) =>
    first(list(body['tools']), (tool) =>
      tool['type'] === 'function' ? schemaFault(tool['parameters'] ?? {}, openaiSchema) : null,
    ) ?? first(list(body['input']), responsesItem),
  gemini: (body) =>
    first(list(body['tools']), (tool) =>
      first(list(tool['functionDeclarations']), (one) => schemaFault(one['parametersJsonSchema'] ?? {}, geminiSchema)),
    ) ?? first(list(body['contents']), (content) => first(list(content['parts']), geminiPart)),
  bedrock: (body) =>
    first(list(body['toolConfig']?.tools), (tool) =>
      schemaFault(tool['toolSpec']?.inputSchema?.json ?? {}, bedrockSchema),
    ) ?? bedrockMessages(list(body['messages'])),
}

function first<T>(items: readonly T[], fault: (item: T) => string | null): string | null {
  for (const item of items) {
    const itemFault = fault(item)
    if (itemFault !== null) return itemFault
  }
  return null
}

/** `no low surrogate in string`: only JSON of valid Unicode is read the same by all parsers (RFC 8259, 8.2). */
function illFormed(value: unknown, path: string): string | null {
  if (typeof value === 'string')
    return value.isWellFormed() ? null : `The request body is not valid JSON: no low surrogate in string: ${path}`
  if (typeof value !== 'object' || value === null) return null
  for (const [name, one] of Object.entries(value)) {
    const innerFault =
      (name.isWellFormed() ? null : `${path}: no low surrogate in a name`) ?? illFormed(one, `${path}.${name}`)
    if (innerFault !== null) return innerFault
  }
  return null
}

const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const magic: readonly [string, string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['JVBERi', 'application/pdf'],
]

/** Base64 bytes of the declared type, which must be one of these. */
function dataFault(data: unknown, type: unknown, types: readonly string[] | null): string | null {
  if (
    typeof data !== 'string' ||
    !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(data) ||
    data === ''
  )
    return 'Invalid base64 data'
  if (types !== null && !types.includes(String(type)))
    return `media type ${String(type)} is not one of ${types.join(', ')}`
  const actualType = magic.find(([start]) => data.startsWith(start))?.[1]
  return actualType === undefined || actualType === type ? null : `The file is ${actualType}, not ${String(type)}`
}

function urlFault(url: unknown, types: readonly string[] | null): string | null {
  const [, type, data] = /^data:([^;,]*);base64,(.*)$/s.exec(String(url)) ?? []
  return data === undefined ? null : dataFault(data, type, types)
}

function anthropicTool(tool: Json): string | null {
  return tool['input_schema'] === undefined ? null : schemaFault(tool['input_schema'], anthropicSchema)
}

const blocksOf = (body: Json): Json[] =>
  list(body['messages']).flatMap(({ content }) =>
    list(content).flatMap((block) => [block, ...(block['type'] === 'tool_result' ? list(block['content']) : [])]),
  )

function anthropicBlock({ type, source }: Json): string | null {
  if (source?.type !== 'base64') return null
  if (type === 'image') return dataFault(source.data, source.media_type, pictures)
  return type === 'document' ? dataFault(source.data, source.media_type, ['application/pdf']) : null
}

function chatMessage({ role, content, tool_calls: calls }: Json): string | null {
  const args = first(list(calls), ({ function: fn }) =>
    isObjectText(fn?.arguments) ? null : 'arguments are no object',
  )
  if (args !== null) return args
  if (role === 'tool' && list(content).some(({ type }) => type !== 'text')) return 'a tool message takes text only'
  return first(list(content), (part) => {
    if (part['type'] === 'image_url') return urlFault(part['image_url']?.url, pictures)
    if (part['type'] !== 'file') return null
    const data = String(part['file']?.file_data ?? '')
    return data.startsWith('data:image/') ? 'a picture is no file' : urlFault(data, null)
  })
}

function isObjectText(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function responsesItem({ type, content, output, arguments: words }: Json): string | null {
  if (type === 'function_call' && !isObjectText(words)) return 'arguments are no object'
  return first([...list(content), ...list(output)], (part) => {
    if (part['type'] === 'input_image') return urlFault(part['image_url'], pictures)
    if (part['type'] !== 'input_file') return null
    const data = String(part['file_data'] ?? '')
    return data.startsWith('data:image/') ? 'a picture is no file' : urlFault(data, null)
  })
}

/** In a response, `$ref` points at a part, and `output` and `error` are reserved (FunctionResponse). */
function geminiPart({ inlineData, functionResponse }: Json): string | null {
  if (inlineData !== undefined)
    return /^(?:(?:image|audio|video|text)\/|application\/pdf$)/.test(String(inlineData.mimeType))
      ? dataFault(inlineData.data, inlineData.mimeType, null)
      : `Unsupported MIME type: ${String(inlineData.mimeType)}`
  if (functionResponse === undefined) return null
  const names = (value: unknown): string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, one]) => [name, ...names(one)])
      : []
  const { response } = functionResponse as { response: Json }
  if (names(response).includes('$ref')) return 'Request contains an invalid argument.'
  const own = Object.keys(response)
  return own.length > 1 && (own.includes('output') || own.includes('error')) ? 'output and error stand alone' : null
}

/** DocumentBlock and Message of Bedrock's API. */
function bedrockMessages(messages: readonly Json[]): string | null {
  const names = new Set<string>()
  return first(messages, ({ content }) => {
    const blocks = list(content)
    if (blocks.some((one) => 'document' in one) && !blocks.some((one) => 'text' in one))
      return 'A message with a document needs a text block.'
    return first(
      blocks.flatMap((one) => [one, ...list(one['toolResult']?.content)]),
      ({ image, document }) => {
        if (image !== undefined) return dataFault(image.source?.bytes, `image/${image.format}`, pictures)
        if (document === undefined) return null
        if (names.has(document.name)) return "Messages can't contain duplicate document names."
        names.add(document.name)
        if (/\s{2}/.test(document.name)) return 'A document name has no two spaces together.'
        return dataFault(
          document.source?.bytes,
          `application/${document.format}`,
          document.format === 'pdf' ? null : null,
        )
      },
    )
  })
}

/**
 * The roles that may follow each other at Mistral (mistralai/mistral-common, validator.py), and the requirements for
 * assistant messages.
 */
const mistral: Record<string, readonly string[]> = {
  system: ['user', 'assistant', 'system'],
  user: ['assistant', 'system', 'user'],
  assistant: ['assistant', 'user', 'tool'],
  tool: ['assistant', 'tool'],
}

export function mistralFault({ messages }: Json): string | null {
  let before: string | null = null
  for (const { role, content, tool_calls: calls } of list(messages)) {
    if (before !== null && !mistral[before]!.includes(role)) return `Unexpected role '${role}' after role '${before}'`
    if (role === 'assistant' && !content && !calls?.length)
      return 'Assistant message must have either content or tool_calls, but not none.'
    before = role as string
  }
  return before === 'user' || before === 'tool' ? null : `Expected last role User or Tool but got ${before}`
}
