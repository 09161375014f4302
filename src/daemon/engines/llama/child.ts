/**
 * The llama.cpp process: OpenAI's chat completions and embeddings over HTTP on a Unix socket, with the model's file
 * in `x-model-path`. A driver crash ends only this process, and its exit frees all memory.
 * Usage: `main.ts llama SOCKET FOLDER CONTEXT GPU`. FOLDER contains `node_modules/node-llama-cpp`, CONTEXT is the
 * token limit per model, and GPU is `auto` or `off`. Exits when stdin closes.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BadRequest, answerSocket, bodyOf, json } from '../answer-socket.ts'
import type { Binding } from './binding.ts'
import { type Completed, type Delta, chat } from './chat.ts'
import { LoadedModels, threads } from './loaded.ts'
import { ChatRequest, EmbeddingsRequest, parseBody } from './request.ts'

let models: LoadedModels

export async function runLlama([socket, folder, context, gpu]: readonly string[]): Promise<void> {
  if (socket === undefined || folder === undefined || !(Number(context) > 0))
    throw new Error('give SOCKET, FOLDER and CONTEXT')
  const entry = pathToFileURL(join(folder, 'node_modules/node-llama-cpp/dist/index.js')).href
  const binding = (await import(entry)) as Binding
  const llama = await binding.getLlama({
    gpu: gpu === 'off' ? false : 'auto',
    build: 'never',
    skipDownload: true,
    maxThreads: threads,
    logLevel: 'error',
  })
  models = new LoadedModels(binding, llama, Number(context))
  answerSocket(socket, answer, { gpu: llama.gpu || null })
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/loaded')
    return json(response, 200, { loaded: models.list(), memory_bytes: process.memoryUsage.rss() })
  const path = decodeURIComponent(String(request.headers['x-model-path']))
  if (request.url === '/unload') {
    await models.unload(path)
    return json(response, 200, {})
  }
  const leaving = new AbortController()
  response.once('close', () => leaving.abort(new Error('the caller left')))
  const model = String(request.headers['x-model-name'])
  const body = await bodyOf(request)
  if (request.url === '/embeddings') return embed(path, model, body, response)
  return complete(path, model, body, response, leaving.signal)
}

async function complete(
  path: string,
  model: string,
  body: string,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const request = parseBody(ChatRequest, body)
  const head = { id: `chatcmpl-${randomUUID().replaceAll('-', '')}`, created: Math.floor(Date.now() / 1000), model }
  if (!request.stream) return json(response, 200, whole(head, await chat(models, path, request, () => {}, signal)))
  const chunk = (choices: object[], more: object = {}): void => {
    const json = JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${json}\n\n`)
  }
  const choice = (delta: object, finish_reason: string | null = null): object[] => [
    { index: 0, delta, logprobs: null, finish_reason },
  ]
  let isStarted = false
  const begin = (): void => {
    if (!isStarted) chunk(choice({ role: 'assistant', content: '' }))
    isStarted = true
  }
  const onDelta = (delta: Delta): void => {
    begin()
    chunk(choice(delta))
  }
  const { tool_calls, finish_reason, usage } = await chat(models, path, request, onDelta, signal)
  begin()
  for (const [index, call] of tool_calls.entries()) chunk(choice({ tool_calls: [{ index, ...call }] }))
  chunk(choice({}, finish_reason))
  if (request.stream_options?.include_usage) chunk([], { usage })
  response.end('data: [DONE]\n\n')
}

function whole(head: object, { text, reasoning, tool_calls, finish_reason, usage }: Completed): object {
  const message = {
    role: 'assistant',
    content: tool_calls.length > 0 && text === '' ? null : text,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(tool_calls.length > 0 && { tool_calls }),
    refusal: null,
  }
  return { ...head, object: 'chat.completion', choices: [{ index: 0, message, logprobs: null, finish_reason }], usage }
}

async function embed(path: string, name: string, body: string, response: ServerResponse): Promise<void> {
  const { input, encoding_format: format } = parseBody(EmbeddingsRequest, body)
  const texts = [input].flat()
  await models.withEmbedding(path, async (model, context) => {
    let tokens = 0
    const data: object[] = []
    for (const [index, text] of texts.entries()) {
      tokens += model.tokenize(text).length
      const { vector } = await context.getEmbeddingFor(text).catch((error: Error) => {
        if (!/longer than the .*context/i.test(error.message)) throw error
        throw new BadRequest(
          `The text has ${model.tokenize(text).length} tokens, which is more than the model’s context here.`,
          texts.length === 1 ? 'input' : `input.${index}`,
          'context_length_exceeded',
        )
      })
      const embedding = format === 'base64' ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector
      data.push({ object: 'embedding', index, embedding })
    }
    json(response, 200, { object: 'list', model: name, data, usage: { prompt_tokens: tokens, total_tokens: tokens } })
  })
}
