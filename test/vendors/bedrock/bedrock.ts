// Amazon Bedrock on loopback: Converse, ConverseStream, InvokeModel, and InvokeModelWithResponseStream, signed
// requests.
//
// Every call must carry a Signature Version 4 for service `bedrock` (checked, five minutes of skew) or a Bedrock API
// key as `Authorization: Bearer`. InvokeModel speaks Anthropic's messages with `anthropic_version: bedrock-2023-05-31`.
// Streams are application/vnd.amazon.eventstream; a stream breaks with an exception message.
//
// Sources: docs.aws.amazon.com/bedrock/latest/APIReference (Converse*, InvokeModel*), the SigV4 guide, issue trackers
// for the words of ValidationException. In a behavior, `type` is the exception's name.
//
// Unknown, so not played or only guessed:
// - the words of errors that the trackers don't show; which members each model family rejects besides the shared ones
// - how usage reports cache writes of two lifetimes (cacheDetails: left out); the padding field `p` (left out)
// - whether a mid-stream exception's name starts with a small letter everywhere (as in the API's union, and here)
// - throttling headers (none are known); guardrails, prompts, async and agents' routes, listing models (another host):
//   404
import { Anthropic, type AnthropicModel } from '../anthropic/anthropic.ts'
import { conflict, converseRequest, faultMessage } from './rules.ts'
import type { Answer, Flow, Frame, Whole } from '../delivery/deliver.ts'
import { id, parse, planOf, tokens, type Plan } from '../delivery/plan.ts'
import { check } from '../rules.ts'
import { serve, type Call } from '../server.ts'
import { verifySignature, type Account } from '../sigv4.ts'
import type { Json, MidStreamError, Options, Refusal, Vendor } from '../vendor.ts'

export type BedrockModel = { id: string; claude?: Omit<AnthropicModel, 'id'> | undefined; output?: number }

export type Bedrock = Vendor & { account: Account }

const models: BedrockModel[] = [
  { id: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', claude: {} },
  { id: 'amazon.nova-pro-v1:0' },
]

export async function startBedrock(
  options: Options<BedrockModel> & { account?: Account | undefined } = {},
): Promise<Bedrock> {
  const key = options.key ?? 'bedrock-api-key-loopback'
  const account = options.account ?? {
    accessKeyId: 'AKIALOOPBACKLOOPBACK',
    secretAccessKey: 'loopback/secret/of/forty/characters/0000',
    region: 'us-east-1',
  }
  const shop = new BedrockShop(options.models ?? models, key, account)
  const vendor = await serve({
    key,
    otherwise: options.otherwise,
    answer: (call) => shop.answer(call),
    failure: ({ status, type, message }) => problem(status, message ?? messageFor(status), type),
    refusals,
    headers: () => ({ 'x-amzn-requestid': crypto.randomUUID() }),
  })
  return { ...vendor, account }
}

class BedrockShop {
  readonly models: BedrockModel[]
  readonly key: string
  readonly account: Account
  readonly claude: Anthropic

  constructor(list: BedrockModel[], key: string, account: Account) {
    this.models = list
    this.key = key
    this.account = account
    this.claude = new Anthropic(list.flatMap((one) => (one.claude ? [{ ...one.claude, id: one.id }] : [])))
  }

  answer(call: Call): Answer {
    const { method, path, request } = call
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    if (bearer !== undefined && bearer !== this.key)
      return problem(403, 'Authentication failed: Please make sure your API Key is valid.', 'AccessDeniedException')
    const refusal = bearer === undefined ? verifySignature(request, this.account, 'bedrock') : undefined
    if (refusal) return problem(refusal.status, refusal.message, refusal.type)
    const match = /^\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/.exec(path)
    if (method !== 'POST' || !match) return problem(404, 'Not found', 'UnknownOperationException')
    const [, name = '', verb = ''] = match
    const model = this.models.find((one) => one.id === decodeURIComponent(name))
    if (!model) return problem(400, 'The provided model identifier is invalid.')
    const body = parse(request.body)
    if (!body) return problem(400, 'Unable to parse the request body', 'SerializationException')
    return verb.startsWith('converse')
      ? converse(call, body, verb === 'converse-stream')
      : this.#invoke(call, body, model, verb)
  }

  #invoke(call: Call, body: Json, model: BedrockModel, verb: string): Answer {
    if (!model.claude) return problem(404, 'InvokeModel of this model is not played', 'ResourceNotFoundException')
    if (body['anthropic_version'] !== 'bedrock-2023-05-31')
      return problem(
        400,
        `"${String(body['anthropic_version'])}" is not a valid anthropic_version; use bedrock-2023-05-31`,
      )
    const stray = ['model', 'stream'].find((field) => field in body)
    if (stray) return problem(400, `${stray}: Extra inputs are not permitted`)
    const { anthropic_version: _, anthropic_beta: beta, ...rest } = body
    const stream = verb === 'invoke-with-response-stream'
    const betas: string[] = Array.isArray(beta) ? beta : []
    const answer = this.claude.speak(call, { ...rest, model: model.id, stream }, '2023-06-01', betas)
    if ('frames' in answer) return inChunks(answer)
    if (answer.status < 400) return answer
    return problem(answer.status, (answer.body as Json)['error'].message)
  }
}

/** Anthropic's stream events as the bytes of a `chunk`; the last one also has the metrics. */
function inChunks({ frames, opening, closing }: Flow): Flow {
  const chunk = (data: unknown): Frame => ({
    event: 'chunk',
    data: { bytes: Buffer.from(JSON.stringify(data)).toString('base64') },
  })
  const events = frames.flatMap((frame) => ('data' in frame ? [frame.data as Json] : []))
  const { usage } = events.find((one) => one['type'] === 'message_delta') ?? {}
  const metrics = {
    inputTokenCount: usage?.input_tokens,
    outputTokenCount: usage?.output_tokens,
    invocationLatency: 42,
    firstByteLatency: 7,
    cacheReadInputTokenCount: usage?.cache_read_input_tokens ?? 0,
    cacheWriteInputTokenCount: usage?.cache_creation_input_tokens ?? 0,
  }
  const chunks = events.map((one) =>
    one['type'] === 'message_stop' ? { ...one, 'amazon-bedrock-invocationMetrics': metrics } : one,
  )
  return { format: 'aws', frames: chunks.map(chunk), opening, closing, failure: brokenFrames }
}

function converse(call: Call, body: Json, isStream: boolean): Answer {
  const fault = check(converseRequest, body)
  if (fault) return problem(400, faultMessage(fault))
  const refusal = conflict(body)
  if (refusal) return problem(400, refusal)
  const textOf = (one: Json) => (one['content'] as Json[]).map((block) => block['text'] ?? '').join('')
  const last = (body['messages'] as Json[]).findLast((one) => one['role'] === 'user' && textOf(one) !== '')
  call.request.seen = { messages: body['messages'], limit: body['inferenceConfig']?.maxTokens, read: [] }
  const { toolChoice, tools } = body['toolConfig'] ?? {}
  const plan = planOf({
    behaviour: call.behaviour,
    echo: last ? textOf(last) : 'nothing to echo',
    prompt: [body['system'], body['messages'], tools],
    limit: body['inferenceConfig']?.maxTokens,
    forced: toolChoice?.tool?.name ?? (toolChoice?.any ? tools?.[0]?.toolSpec?.name : undefined),
    thinks: ['enabled', 'adaptive'].includes(body['additionalModelRequestFields']?.thinking?.type),
  })
  const usual = plan.refusal === undefined ? (plan.tools.length > 0 ? 'tool_use' : 'end_turn') : 'content_filtered'
  const stopReason = call.behaviour.finish ?? (plan.cut ? 'max_tokens' : usual)
  if (isStream) return stream(plan, stopReason)
  const message = { role: 'assistant', content: contentOf(plan) }
  return { status: 200, body: { output: { message }, stopReason, usage: usageOf(plan), metrics: { latencyMs: 42 } } }
}

function contentOf(plan: Plan): Json[] {
  const thoughts = plan.reasoning
    ? [{ reasoningContent: { reasoningText: { text: plan.reasoning, signature: plan.signature } } }]
    : []
  return [
    ...thoughts,
    ...(plan.text ? [{ text: plan.text }] : []),
    ...plan.tools.map((call) => ({
      toolUse: { toolUseId: call.id ?? id('tooluse_', 22), name: call.name, input: inputOf(call.arguments) },
    })),
  ]
}

/** Only tool blocks have a start event; text and reasoning start with their first delta. */
function stream(plan: Plan, stopReason: string): Flow {
  const frames: Frame[] = [{ event: 'messageStart', data: { role: 'assistant' } }]
  const add = (event: string, data: Json) => frames.push({ event, data })
  let contentBlockIndex = 0
  const block = (deltas: Json[], start?: Json) => {
    if (start) add('contentBlockStart', { start, contentBlockIndex })
    for (const delta of deltas) add('contentBlockDelta', { delta, contentBlockIndex })
    add('contentBlockStop', { contentBlockIndex })
    contentBlockIndex++
  }
  if (plan.reasoning)
    block([
      ...tokens(plan.reasoning).map((text) => ({ reasoningContent: { text } })),
      { reasoningContent: { signature: plan.signature } },
    ])
  if (plan.text) block(tokens(plan.text).map((text) => ({ text })))
  for (const call of plan.tools)
    block(
      tokens(call.arguments).map((input) => ({ toolUse: { input } })),
      { toolUse: { toolUseId: call.id ?? id('tooluse_', 22), name: call.name } },
    )
  add('messageStop', { stopReason })
  add('metadata', { usage: usageOf(plan), metrics: { latencyMs: 42 } })
  return { format: 'aws', frames, opening: 1, closing: 2, failure: brokenFrames }
}

function inputOf(raw: string): Json {
  try {
    return JSON.parse(raw) as Json
  } catch {
    return {}
  }
}

/** Input excludes cache reads and writes; the total includes everything. */
function usageOf({ usage }: Plan): Json {
  const inputTokens = Math.max(0, usage.input - usage.cached - usage.cacheWrite)
  return {
    inputTokens,
    outputTokens: usage.output,
    totalTokens: usage.input + usage.output,
    cacheReadInputTokens: usage.cached,
    cacheWriteInputTokens: usage.cacheWrite,
  }
}

const kinds: Record<number, string> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
}

function messageFor(status: number): string {
  if (status === 429) return 'Too many requests, please wait before trying again.'
  if (status === 503) return 'Bedrock is unable to process your request.'
  return 'The system encountered an unexpected error during processing. Try your request again.'
}

function problem(status: number, message: string, type = kinds[status] ?? 'InternalServerException'): Whole {
  const headers = { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` }
  return { status, body: { message }, headers }
}

const refusals: Record<Refusal, () => Whole> = {
  key: () => problem(403, 'The security token included in the request is invalid.', 'UnrecognizedClientException'),
  permission: () =>
    problem(403, "You don't have access to the model with the specified model ID.", 'AccessDeniedException'),
  quota: () => problem(429, 'Too many tokens per day, please wait before trying again.', 'ThrottlingException'),
  throttle: () => problem(429, 'Too many requests, please wait before trying again.', 'ThrottlingException'),
}

const streamExceptions: Record<number, string> = {
  400: 'validationException',
  424: 'modelStreamErrorException',
  429: 'throttlingException',
  503: 'serviceUnavailableException',
}

function brokenFrames({ status = 500, type, message }: MidStreamError): Frame[] {
  const event = type ?? streamExceptions[status] ?? 'internalServerException'
  return [{ event, exception: true, data: { message: message ?? messageFor(status) } }]
}
