// A Gemini model's answer to a generateContent body, whole or in chunks, for Google AI Studio and Vertex.
import type { Answer, Frame, Whole } from '../delivery/deliver.ts'
import { conflict, generateRequest, invalid, signatures, googleFault, type GoogleError } from './rules.ts'
import { id, planOf, tokens, weigh, type Plan } from '../delivery/plan.ts'
import { check } from '../rules.ts'
import type { Call } from '../server.ts'
import type { Json, StoredObject, MidStreamError, Refusal } from '../vendor.ts'

export type GeminiModel = {
  /** Without `models/`. */
  id: string
  name?: string
  context?: number
  output?: number
  /** `level`: Gemini 3, which always thinks, signs its calls, requires the signatures back, and gives calls an ID. */
  thinks?: 'budget' | 'level'
}

export const geminiModels: GeminiModel[] = [
  { id: 'gemini-3.8-flash', name: 'Gemini 3.8 Flash', thinks: 'level' },
  { id: 'gemini-2.5-pro', name: 'Gemini 2.5 Pro', thinks: 'budget' },
  { id: 'gemini-2.0-flash', name: 'Gemini 2.0 Flash', output: 8192 },
]

/** `style`: Vertex reports its traffic type. */
export type Style = 'studio' | 'vertex'

export function readGenerate(body: Json, model: GeminiModel): GoogleError | undefined {
  const fault = check(generateRequest, body)
  if (fault) return googleFault(fault)
  const refusal = conflict(body)
  if (refusal) return refusal
  const count = body['generationConfig']?.thinkingConfig
  if (count && !model.thinks) return invalid('Thinking is not enabled for this model.')
  if (count?.thinkingLevel !== undefined && model.thinks !== 'level')
    return invalid('Thinking level is not supported for this model.')
  const most = model.context ?? 1_048_576
  const size = weigh(body['contents']) + weigh(body['systemInstruction'])
  if (size > most)
    return invalid(`The input token count (${size}) exceeds the maximum number of tokens allowed (${most}).`)
  return model.thinks === 'level' ? signatures(body['contents']) : undefined
}

/** `storedFiles`: referenced objects stored at Google. */
export function generate(
  call: Call,
  body: Json,
  model: GeminiModel,
  isStream: boolean,
  style: Style,
  storedFiles: StoredObject[] = [],
): Answer {
  const texts = storedFiles.map(({ text }) => text)
  const config: Json = body['generationConfig'] ?? {}
  const plan = planOf({
    behaviour: call.behaviour,
    echo: [lastUserText(body['contents']), ...texts].join('\n'),
    prompt: [body['systemInstruction'], body['contents'], body['tools'], texts],
    limit: config['maxOutputTokens'],
    forced: forcedTool(body),
    thinks: model.thinks === 'level' || (config['thinkingConfig']?.thinkingBudget ?? 0) !== 0,
    json: config['responseMimeType'] === 'application/json',
  })
  call.request.seen = { messages: body['contents'], limit: config['maxOutputTokens'], read: storedFiles }
  const head = { modelVersion: model.id, responseId: id('', 22) }
  const isBlocked = plan.refusal !== undefined
  const finish = call.behaviour.finish ?? (plan.cut ? 'MAX_TOKENS' : 'STOP')
  const parts = isBlocked ? [] : partsOf(plan, model, config['thinkingConfig']?.includeThoughts === true)
  const usage = usageOf(plan, style, isBlocked)
  const silent = !['STOP', 'MAX_TOKENS'].includes(finish)
  const count = config['candidateCount'] ?? 1
  if (isBlocked) {
    const whole = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: usage, ...head }
    if (!isStream) return { status: 200, body: whole }
    return { format: 'sse', newline: '\r\n', frames: [{ data: whole }], opening: 0, closing: 1, failure: brokenFrames }
  }
  if (!isStream) return { status: 200, body: whole(parts, finish, usage, head, count, silent) }
  const chunk = (pieces: Json[], finishReason?: string): Frame => ({
    data: {
      candidates: [
        {
          ...(pieces.length > 0 ? { content: { parts: pieces, role: 'model' } } : {}),
          ...(finishReason === undefined ? {} : { finishReason }),
          index: 0,
        },
      ],
      usageMetadata: finishReason === undefined ? partial(usage) : usage,
      ...head,
    },
  })
  const pieces = silent && plan.text === '' && plan.tools.length === 0 ? [] : parts.flatMap(inPieces)
  const frames = pieces.map((piece) => chunk([piece]))
  frames.push(chunk(silent ? [] : [lastPart(plan, model)], finish))
  return { format: 'sse', newline: '\r\n', frames, opening: 0, closing: 1, failure: brokenFrames }
}

function whole(parts: Json[], finishReason: string, usage: Json, head: Json, count: number, silent: boolean): Json {
  const content = silent && parts.length === 0 ? {} : { content: { parts, role: 'model' } }
  const candidates = Array.from({ length: count }, (_, index) => ({
    ...content,
    finishReason,
    ...(finishReason === 'MALFORMED_FUNCTION_CALL' ? { finishMessage: 'Malformed function call' } : {}),
    index,
  }))
  return { candidates, usageMetadata: usage, ...head }
}

/** Calls come whole; a thought's signature is on the first call, else on the last part. */
function partsOf(plan: Plan, model: GeminiModel, showsThoughts: boolean): Json[] {
  const signs = model.thinks === 'level'
  const thoughts = plan.reasoning && showsThoughts ? [{ text: plan.reasoning, thought: true }] : []
  const text = plan.text
    ? [{ text: plan.text, ...(signs && plan.tools.length === 0 ? { thoughtSignature: plan.signature } : {}) }]
    : []
  const calls = plan.tools.map((call, index) => ({
    functionCall: {
      ...(signs ? { id: call.id ?? id('', 8).toLowerCase() } : {}),
      name: call.name,
      args: argumentsOf(call.arguments),
    },
    ...(signs && index === 0 ? { thoughtSignature: plan.signature } : {}),
  }))
  return [...thoughts, ...text, ...calls]
}

function inPieces(part: Json): Json[] {
  if (!('text' in part)) return [part]
  const { text, thought: isThought } = part
  return tokens(text).map((piece) => (isThought ? { text: piece, thought: isThought } : { text: piece }))
}

/** The last chunk of a text answer is an empty part, with the signature if the model signs. */
function lastPart(plan: Plan, model: GeminiModel): Json {
  const signs = model.thinks === 'level' && plan.tools.length === 0
  return { text: '', ...(signs ? { thoughtSignature: plan.signature } : {}) }
}

function argumentsOf(raw: string): Json {
  try {
    return JSON.parse(raw) as Json
  } catch {
    return {}
  }
}

function usageOf({ usage }: Plan, style: Style, isBlocked: boolean): Json {
  const visibleTokens = usage.output - usage.reasoning
  return {
    promptTokenCount: usage.input,
    ...(isBlocked ? {} : { candidatesTokenCount: visibleTokens }),
    totalTokenCount: isBlocked ? usage.input : usage.input + usage.output,
    ...(usage.cached > 0
      ? {
          cachedContentTokenCount: usage.cached,
          cacheTokensDetails: [{ modality: 'TEXT', tokenCount: usage.cached }],
        }
      : {}),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: usage.input }],
    ...(usage.reasoning > 0 && !isBlocked ? { thoughtsTokenCount: usage.reasoning } : {}),
    ...(style === 'vertex' ? { trafficType: 'ON_DEMAND' } : {}),
  }
}

/** Before the end, a chunk only has the prompt's count. */
function partial(usage: Json): Json {
  return { ...usage, candidatesTokenCount: undefined, totalTokenCount: usage['promptTokenCount'] }
}

function forcedTool(body: Json): string | undefined {
  const { mode, allowedFunctionNames } = body['toolConfig']?.functionCallingConfig ?? {}
  if (mode !== 'ANY') return undefined
  const declarations = ((body['tools'] ?? []) as Json[]).flatMap(
    (tool) => (tool['functionDeclarations'] ?? []) as Json[],
  )
  return allowedFunctionNames?.[0] ?? declarations[0]?.['name']
}

function lastUserText(contents: Json[]): string {
  const textOf = (one: Json) => (one['parts'] as Json[]).map((part) => part['text'] ?? '').join('')
  const content = contents.findLast((one) => one['role'] !== 'model' && textOf(one) !== '')
  return content ? textOf(content) : 'nothing to echo'
}

const names: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

export function messageFor(status: number): string {
  if (status === 429)
    return 'You exceeded your current quota, please check your plan and billing details. Please retry in 34s.'
  if (status === 503) return 'The model is overloaded. Please try again later.'
  return status === 504 ? 'Deadline expired before operation could complete.' : 'An internal error has occurred.'
}

export function envelope({ status, message, details }: GoogleError, name = names[status]): Json {
  return {
    error: {
      code: status,
      message,
      status: name ?? (status < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL'),
      ...(details ? { details } : {}),
    },
  }
}

export function problem(error: GoogleError, name?: string): Whole {
  return { status: error.status, body: envelope(error, name) }
}

/** A quota error has a retry delay, such as `34s`. */
export function retryInfo(delay = '34s'): Json[] {
  return [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: delay }]
}

const usedUp = 'You exceeded your current quota, please check your plan and billing details.'
const quotaViolation = (quotaId: string): Json => ({
  '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
  violations: [{ quotaMetric: 'generativelanguage.googleapis.com/generate_requests', quotaId }],
})

/** The refusals of both APIs, which differ only for keys. Even a daily quota comes with a retryDelay. */
export const googleRefusals: Record<Exclude<Refusal, 'key'>, () => Whole> = {
  permission: () => problem({ status: 403, message: 'The caller does not have permission' }),
  quota: () =>
    problem({
      status: 429,
      message: usedUp,
      details: [quotaViolation('GenerateRequestsPerDayPerProjectPerModel-FreeTier'), ...retryInfo('34s')],
    }),
  throttle: () =>
    problem({
      status: 429,
      message: usedUp,
      details: [quotaViolation('GenerateRequestsPerMinutePerProjectPerModel'), ...retryInfo('1s')],
    }),
}

function brokenFrames({ status = 503, message, type }: MidStreamError): Frame[] {
  return [{ data: envelope({ status, message: message ?? messageFor(status) }, type) }]
}
