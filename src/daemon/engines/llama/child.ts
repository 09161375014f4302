/**
 * The engine's own process: OpenAI's chat completions and embeddings over HTTP on a unix socket, with the model's file in
 * `x-model-path`. A driver that crashes takes this process with it and nothing else; its end gives all memory back.
 *
 * Its program is `main.ts SOCKET FOLDER CONTEXT GPU`: FOLDER holds `node_modules/node-llama-cpp`, a model is given CONTEXT tokens
 * at most, and GPU is `auto` or `off`. It ends with its standard input.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Binding } from './binding.ts'
import { type Completed, type Delta, chat } from './chat.ts'
import { LoadedModels, threads } from './loaded.ts'
import { BadRequest, ChatRequest, EmbeddingsRequest, read } from './request.ts'

const MOST_BODY = 64 * 1024 * 1024

let models: LoadedModels

export async function runEngine([socket, folder, context, gpu]: readonly string[]): Promise<void> {
  if (socket === undefined || folder === undefined || !(Number(context) > 0))
    throw new Error('give SOCKET, FOLDER and CONTEXT')
  process.stdin.resume().on('end', () => process.exit(0))
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
  createServer((request, response) => {
    answer(request, response).catch((error) => refuse(response, error))
  }).listen(socket, () => void process.stdout.write(`${JSON.stringify({ ready: true, gpu: llama.gpu || null })}\n`))
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
  const request = read(ChatRequest, body)
  const head = { id: `chatcmpl-${randomUUID().replaceAll('-', '')}`, created: Math.floor(Date.now() / 1000), model }
  if (!request.stream) return json(response, 200, whole(head, await chat(models, path, request, () => {}, signal)))
  const chunk = (choices: object[], more: object = {}): void => {
    const said = JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${said}\n\n`)
  }
  const choice = (delta: object, finish_reason: string | null = null): object[] => [
    { index: 0, delta, logprobs: null, finish_reason },
  ]
  let begun = false
  const begin = (): void => {
    if (!begun) chunk(choice({ role: 'assistant', content: '' }))
    begun = true
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
  const { input, encoding_format: format } = read(EmbeddingsRequest, body)
  const texts = [input].flat()
  await models.withEmbedding(path, async (model, context) => {
    let tokens = 0
    const data: object[] = []
    for (const [index, text] of texts.entries()) {
      tokens += model.tokenize(text).length
      const { vector } = await context.getEmbeddingFor(text).catch((error: Error) => {
        if (!/longer than the .*context/i.test(error.message)) throw error
        throw new BadRequest(
          `The text has ${model.tokenize(text).length} tokens, more than this model holds here.`,
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

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MOST_BODY) throw new BadRequest('The request is larger than 64 MB.', null)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** An error in OpenAI's shape; in the middle of a stream, the connection breaks, which no client takes for an end. */
function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const bad = error instanceof BadRequest
  const message = error instanceof Error ? error.message : String(error)
  json(response, bad ? 400 : 500, {
    error: {
      message,
      type: bad ? 'invalid_request_error' : 'server_error',
      param: bad ? error.param : null,
      code: bad ? error.code : null,
    },
  })
}
