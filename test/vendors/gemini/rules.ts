// The body of generateContent (ai.google.dev/api/generate-content, @google/genai 3.1.0) and Google's words for errors.
import { strictFault } from '../strict/strict.ts'
import { nameOf, type Fault, type Path, type Rule } from '../rules.ts'
import type { Json } from '../vendor.ts'

export type GoogleError = { status: number; message: string; details?: Json[] | undefined }

const text: Rule = { kind: 'string' }
const flag: Rule = { kind: 'boolean' }
const number: Rule = { kind: 'number' }
const integer: Rule = { kind: 'integer' }
const open: Rule = { kind: 'object' }
const any: Rule = { kind: ['string', 'number', 'boolean', 'array', 'object'], nullable: true }
const closedObject = (fields: Record<string, Rule>): Rule => ({ kind: 'object', fields, closed: true })
const list = (items: Rule): Rule => ({ kind: 'array', items })

/** The subset of OpenAPI that `parameters` and `responseSchema` accept; `…JsonSchema` takes JSON Schema. */
const schema: Rule = { kind: 'object', closed: true }
schema.fields = {
  type: text,
  format: text,
  title: text,
  description: text,
  nullable: flag,
  enum: list(text),
  items: schema,
  minItems: { kind: ['string', 'integer'] },
  maxItems: { kind: ['string', 'integer'] },
  properties: { kind: 'object' },
  required: list(text),
  minProperties: { kind: ['string', 'integer'] },
  maxProperties: { kind: ['string', 'integer'] },
  minLength: { kind: ['string', 'integer'] },
  maxLength: { kind: ['string', 'integer'] },
  minimum: number,
  maximum: number,
  pattern: text,
  example: any,
  default: any,
  anyOf: list(schema),
  propertyOrdering: list(text),
}

const functionCall = closedObject({ id: text, name: { kind: 'string', required: true }, args: open })
const functionResponse = closedObject({
  id: text,
  name: { kind: 'string', required: true },
  response: { kind: 'object', required: true },
  willContinue: flag,
  scheduling: text,
  parts: list(open),
})

const part = closedObject({
  text,
  thought: flag,
  thoughtSignature: text,
  inlineData: closedObject({ mimeType: text, data: text, displayName: text }),
  fileData: closedObject({ mimeType: text, fileUri: text, displayName: text }),
  functionCall,
  functionResponse,
  executableCode: open,
  codeExecutionResult: open,
  videoMetadata: open,
  mediaResolution: open,
  partMetadata: open,
})
const content = closedObject({ role: text, parts: list(part) })

const declaration = closedObject({
  name: { kind: 'string', required: true },
  description: text,
  behavior: text,
  parameters: schema,
  parametersJsonSchema: any,
  response: schema,
  responseJsonSchema: any,
})

const generationConfig = closedObject({
  candidateCount: integer,
  stopSequences: list(text),
  maxOutputTokens: integer,
  temperature: number,
  topP: number,
  topK: number,
  seed: integer,
  presencePenalty: number,
  frequencyPenalty: number,
  responseLogprobs: flag,
  logprobs: integer,
  responseMimeType: text,
  responseSchema: schema,
  responseJsonSchema: any,
  responseModalities: list(text),
  speechConfig: open,
  imageConfig: open,
  mediaResolution: text,
  enableEnhancedCivicAnswers: flag,
  thinkingConfig: closedObject({ includeThoughts: flag, thinkingBudget: integer, thinkingLevel: text }),
})

export const generateRequest: Rule = closedObject({
  model: text,
  contents: list(content),
  systemInstruction: content,
  tools: list(
    closedObject({
      functionDeclarations: list(declaration),
      googleSearch: open,
      googleSearchRetrieval: open,
      googleMaps: open,
      codeExecution: open,
      urlContext: open,
      computerUse: open,
      fileSearch: open,
    }),
  ),
  toolConfig: closedObject({
    functionCallingConfig: closedObject({ mode: text, allowedFunctionNames: list(text) }),
    retrievalConfig: open,
  }),
  safetySettings: list(closedObject({ category: text, threshold: text })),
  generationConfig,
  cachedContent: text,
  serviceTier: text,
})

/** An error in the JSON itself; Google names the field's parent and repeats it in the details. */
export function googleFault({ kind, path, value }: Fault): GoogleError {
  const parent = pathOf(path.slice(0, -1))
  const at = parent === '' ? '' : ` at '${parent}'`
  const description =
    kind === 'unknown'
      ? `Invalid JSON payload received. Unknown name "${String(path.at(-1))}"${at}: Cannot find field.`
      : kind === 'missing'
        ? `* GenerateContentRequest.${snake(pathOf(path))}: is required\n`
        : Array.isArray(value)
          ? `Invalid JSON payload received. Unknown name "${String(path.at(-1))}"${at}: Proto field is not repeating, cannot start list.`
          : `Invalid value at '${pathOf(path)}' (${nameOf(value)}), ${JSON.stringify(value)}`
  const violation = { ...(parent === '' ? {} : { field: parent }), description }
  return invalid(description, [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [violation] }])
}

export function invalid(message: string, details?: Json[]): GoogleError {
  return { status: 400, message, details }
}

function pathOf(path: Path): string {
  return path.reduce<string>(
    (out, step) => (typeof step === 'number' ? `${out}[${step}]` : out ? `${out}.${step}` : step),
    '',
  )
}

function snake(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

const data = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode']

/** Errors that depend on the whole request. */
export function conflict(body: Json): GoogleError | undefined {
  const contents: Json[] = body['contents'] ?? []
  if (contents.length === 0) return invalid('* GenerateContentRequest.contents: contents is not specified\n')
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== undefined && role !== 'user' && role !== 'model' && role !== 'function')
      return invalid('Please use a valid role: user, model.')
    if (!parts?.length)
      return invalid(`* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.\n`)
    const empty = (parts as Json[]).findIndex((one) => !data.some((name) => name in one) && !one['codeExecutionResult'])
    if (empty >= 0)
      return invalid(
        `* GenerateContentRequest.contents[${index}].parts[${empty}].data: required oneof field 'data' must have one initialized field\n`,
      )
  }
  const strict = strictFault('gemini', body)
  return turns(contents) ?? schemas(body) ?? settings(body) ?? (strict === null ? undefined : invalid(strict))
}

/**
 * A function call must be answered in the next content, by as many responses; it must follow the user or a response.
 */
function turns(contents: Json[]): GoogleError | undefined {
  const count = (content: Json | undefined, name: string) =>
    ((content?.['parts'] ?? []) as Json[]).filter((one) => name in one).length
  for (const [index, content] of contents.entries()) {
    const calls = count(content, 'functionCall')
    const responses = count(content, 'functionResponse')
    const before = contents[index - 1]
    if (calls > 0 && (index === 0 || (before?.['role'] === 'model' && count(before, 'functionResponse') === 0)))
      return invalid(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      )
    if (responses > 0 && responses !== count(before, 'functionCall'))
      return invalid(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      )
    if (calls > 0 && index + 1 < contents.length && count(contents[index + 1], 'functionResponse') === 0)
      return invalid('Please ensure that function response turn comes immediately after a function call turn.')
  }
  return undefined
}

function schemas(body: Json): GoogleError | undefined {
  for (const [at, tool] of ((body['tools'] ?? []) as Json[]).entries()) {
    for (const [index, one] of ((tool['functionDeclarations'] ?? []) as Json[]).entries()) {
      const where = `tools[${at}].function_declarations[${index}]`
      if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(one['name']))
        return invalid(
          `* GenerateContentRequest.${where}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.\n`,
        )
      if (one['parameters'] && one['parametersJsonSchema'])
        return invalid(`${where}: parameters and parameters_json_schema are mutually exclusive.`)
      const fault = one['parameters'] && schemaFault(one['parameters'], `${where}.parameters`)
      if (fault) return fault
    }
  }
  const response = body['generationConfig']?.responseSchema
  return response && schemaFault(response, 'generation_config.response_schema')
}

const types = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL']

function schemaFault(one: Json, where: string): GoogleError | undefined {
  const extra = Object.keys(one).find((name) => !(name in (schema.fields ?? {})))
  if (extra) {
    const description = `Invalid JSON payload received. Unknown name "${extra}" at '${where}': Cannot find field.`
    return invalid(description, [
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: where, description }] },
    ])
  }
  if (one['type'] !== undefined && !types.includes(String(one['type']).toUpperCase()))
    return invalid(`Invalid value at '${where}.type' (type.googleapis.com/google.ai.Type), "${one['type']}"`)
  if (one['type']?.toUpperCase() === 'ARRAY' && !one['items'])
    return invalid(`* GenerateContentRequest.${where}.items: missing field.\n`)
  const properties: Json = one['properties'] ?? {}
  const stray = ((one['required'] ?? []) as string[]).findIndex((name) => !(name in properties))
  if (stray >= 0) return invalid(`* GenerateContentRequest.${where}.required[${stray}]: property is not defined\n`)
  for (const [name, inner] of Object.entries(properties)) {
    const fault = schemaFault(inner as Json, `${where}.properties[${name}]`)
    if (fault) return fault
  }
  return one['items'] ? schemaFault(one['items'], `${where}.items`) : undefined
}

function settings(body: Json): GoogleError | undefined {
  const config: Json = body['generationConfig'] ?? {}
  const { mode, allowedFunctionNames } = body['toolConfig']?.functionCallingConfig ?? {}
  if (allowedFunctionNames?.length && mode !== 'ANY' && mode !== 'VALIDATED')
    return invalid('Allowed function names should be set only when function calling mode is ANY.')
  if (config['temperature'] !== undefined && (config['temperature'] < 0 || config['temperature'] > 2))
    return invalid(
      '* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n',
    )
  if (config['stopSequences']?.length > 5) return invalid('The number of stop sequences must be at most 5.')
  if (config['maxOutputTokens'] !== undefined && config['maxOutputTokens'] < 1)
    return invalid('max_output_tokens must be positive.')
  if ((config['responseSchema'] || config['responseJsonSchema']) && config['responseMimeType'] !== 'application/json')
    return invalid('response_schema may only be set with response_mime_type `application/json`.')
  const { thinkingBudget, thinkingLevel } = config['thinkingConfig'] ?? {}
  if (thinkingBudget !== undefined && thinkingLevel !== undefined)
    return invalid('You can only set only one of thinking budget and thinking level.')
  return undefined
}

const dummies = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']

/** Gemini 3: in the current turn the first call of each step must carry its signature. */
export function signatures(contents: Json[]): GoogleError | undefined {
  const begin = contents.findLastIndex(
    ({ role, parts }) => role !== 'model' && (parts as Json[]).some((one) => 'text' in one),
  )
  for (const [at, { role, parts }] of contents.entries()) {
    if (role !== 'model') continue
    for (const { thoughtSignature: signature } of parts as Json[])
      if (signature !== undefined && !dummies.includes(signature) && !isOurs(signature))
        return invalid('Corrupted thought signature.')
    if (at < begin) continue
    const first = (parts as Json[]).find((one) => 'functionCall' in one)
    if (first && first['thoughtSignature'] === undefined)
      return invalid(
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${first['functionCall'].name}\` , position ${at + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
      )
  }
  return undefined
}

/** As plan.ts makes them. */
function isOurs(signature: unknown): boolean {
  return typeof signature === 'string' && Buffer.from(signature, 'base64').toString('utf8').startsWith('signed: ')
}
