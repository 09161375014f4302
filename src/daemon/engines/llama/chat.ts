import { randomUUID } from 'node:crypto'
import { BadRequest } from '../answer-socket.ts'
import type { GenerateOptions, LlamaChat, Model, Sequence } from './binding.ts'
import type { LoadedModels } from './loaded.ts'
import { type ChatRequest, history } from './request.ts'

export interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
}

export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

export interface Completed {
  text: string
  reasoning: string
  tool_calls: ToolCall[]
  finish_reason: 'stop' | 'length' | 'tool_calls'
  usage: Usage
}

export interface Delta {
  content?: string
  reasoning_content?: string
}

export function chat(
  models: LoadedModels,
  path: string,
  request: ChatRequest,
  onDelta: (delta: Delta) => void,
  signal: AbortSignal,
): Promise<Completed> {
  return models.withSequence(path, signal, async (model, sequence) => {
    const conversation = new models.binding.LlamaChat({ contextSequence: sequence, autoDisposeSequence: false })
    try {
      return await generate(models, conversation, model, sequence, request, onDelta, signal)
    } finally {
      conversation.dispose()
    }
  })
}

async function generate(
  models: LoadedModels,
  conversation: LlamaChat,
  model: Model,
  sequence: Sequence,
  request: ChatRequest,
  onDelta: (delta: Delta) => void,
  signal: AbortSignal,
): Promise<Completed> {
  const messages = history(request.messages)
  const functions = functionsOf(request)
  const prompt = conversation.chatWrapper
    .generateContextState({
      chatHistory: messages,
      ...(functions && { availableFunctions: functions, documentFunctionParams: true }),
    })
    .contextText.tokenize(model.tokenize.bind(model)).length
  // Beyond its context the engine would silently drop the start of the conversation.
  if (prompt >= sequence.contextSize)
    throw new BadRequest(
      `The conversation has ${prompt} tokens, and the model’s context here is ${sequence.contextSize} tokens.`,
      'messages',
      'context_length_exceeded',
    )
  const requestedTokens = request.max_completion_tokens ?? request.max_tokens ?? Infinity
  const maxTokens = Math.min(requestedTokens, sequence.contextSize - prompt)
  const before = sequence.tokenMeter.usedOutputTokens
  let text = ''
  let reasoning = ''
  const grammar = functions ? undefined : await grammarOf(models, request)
  const options: GenerateOptions = {
    signal,
    stopOnAbortSignal: false,
    maxTokens,
    temperature: request.temperature ?? 1,
    onResponseChunk(chunk) {
      if (chunk.type === 'segment') reasoning += chunk.text
      else text += chunk.text
      onDelta(chunk.type === 'segment' ? { reasoning_content: chunk.text } : { content: chunk.text })
    },
    ...(request.top_p != null && { topP: request.top_p }),
    ...(request.seed != null && { seed: request.seed }),
    ...(request.stop != null && { customStopTriggers: [request.stop].flat() }),
    ...((request.frequency_penalty != null || request.presence_penalty != null) && {
      repeatPenalty: {
        ...(request.frequency_penalty != null && { frequencyPenalty: request.frequency_penalty }),
        ...(request.presence_penalty != null && { presencePenalty: request.presence_penalty }),
      },
    }),
    ...(grammar && { grammar }),
    ...(functions && { functions, documentFunctionParams: true }),
  }
  const { functionCalls, metadata } = await conversation.generateResponse(messages, options)
  signal.throwIfAborted()
  const tokens = sequence.tokenMeter.usedOutputTokens - before
  const tool_calls = (functionCalls ?? []).map(({ functionName, params }): ToolCall => ({
    id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
    type: 'function',
    function: { name: functionName, arguments: JSON.stringify(params ?? {}) },
  }))
  return {
    text,
    reasoning,
    tool_calls,
    finish_reason: tool_calls.length > 0 ? 'tool_calls' : metadata.stopReason === 'maxTokens' ? 'length' : 'stop',
    usage: { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens },
  }
}

function functionsOf({ tools, tool_choice, response_format }: ChatRequest): GenerateOptions['functions'] | null {
  if (!tools || tools.length === 0 || tool_choice === 'none') return null
  if (response_format && response_format.type !== 'text')
    throw new BadRequest('This engine supports either tools or a response format, not both.', 'response_format')
  return Object.fromEntries(
    tools.map(({ function: { name, description, parameters } }) => [
      name,
      { ...(description && { description }), ...(parameters && { params: parameters }) },
    ]),
  )
}

async function grammarOf(
  { llama }: LoadedModels,
  { response_format: format }: ChatRequest,
): Promise<object | undefined> {
  if (format?.type === 'json_object') return llama.getGrammarFor('json')
  if (format?.type !== 'json_schema') return undefined
  try {
    return await llama.createGrammarForJsonSchema(format.json_schema.schema)
  } catch (error) {
    throw new BadRequest(
      `This engine doesn’t support this schema: ${error instanceof Error ? error.message : String(error)}`,
      'response_format.json_schema.schema',
    )
  }
}
