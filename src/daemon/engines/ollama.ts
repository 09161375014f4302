/**
 * An Ollama server on this computer, or one with the same API (ollama's docs/api.md). Model names are kept. Ollama
 * itself answers calls in OpenAI's format under `/v1`.
 */
import { spawn } from 'node:child_process'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { Refusal, refuse } from '#core/errors.ts'
import { forEngine } from '../environment.ts'
import { DownloadCut, throughCuts } from './download/download.ts'
import type { Answer, Call, Engine, EngineRow, ModelRow, Progress } from './engine.ts'

const Tags = z.object({
  models: z.array(
    z.object({
      name: z.string(),
      size: z.number().int().default(0),
      digest: z.string().nullish(),
      details: z.object({ quantization_level: z.string().nullish() }).nullish(),
    }),
  ),
})
const Running = z.object({
  // Older servers don't report the context length.
  models: z.array(z.object({ name: z.string(), context_length: z.number().int().positive().nullish() })),
})
const Shown = z.object({
  parameters: z.string().nullish(),
  model_info: z.record(z.string(), z.unknown()).nullish(),
  capabilities: z.array(z.string()).nullish(),
})
const Pulled = z.object({
  status: z.string().optional(),
  error: z.string().optional(),
  digest: z.string().optional(),
  total: z.number().optional(),
  completed: z.number().optional(),
})

const MAX_ANSWER = 8 * 1024 * 1024
/** Verifying a large model sends no output. */
const PULL_SILENT_MS = 600_000
/** The context of models that request none: the minimum of ollama's docs/faq.md. */
const DEFAULT_CONTEXT = 4_096
/** Hardly any text averages more. */
const BYTES_PER_TOKEN = 8

interface Facts {
  trained: number | null
  asks: number | null
  embeds: boolean
}

export class OllamaEngine implements Engine {
  readonly name = 'ollama'
  readonly #origin: URL
  readonly #context: number
  readonly #facts = new Map<string, Facts>()
  readonly #loadedWith = new Map<string, number>()
  readonly #served = new Map<string, number>()

  /** `origin`: such as `http://127.0.0.1:11434`. `context`: `OLLAMA_CONTEXT_LENGTH` of the server, if set. */
  constructor(origin: string, context = DEFAULT_CONTEXT) {
    this.#origin = new URL(origin)
    this.#context = context
  }

  async row(): Promise<EngineRow> {
    const row = { name: 'ollama' as const, version: null, reason: null }
    try {
      const { version } = await this.#ask(z.object({ version: z.string() }), 'GET', '/api/version', null, 2_000)
      return { ...row, status: 'running', version }
    } catch {
      return { ...row, status: 'absent', reason: `No response from ${this.#origin.origin}.` }
    }
  }

  async start(_: Progress, signal: AbortSignal): Promise<void> {
    if ((await this.row()).status === 'running') return
    const child = spawn('ollama', ['serve'], {
      detached: true,
      stdio: 'ignore',
      env: { ...forEngine(process.env), OLLAMA_HOST: this.#origin.host },
    })
    const missing = new Promise<boolean>((resolve) =>
      child.once('error', () => resolve(true)).once('spawn', () => resolve(false)),
    )
    if (await missing) refuse('not_supported', { message: 'Ollama isn’t installed on the computer.' })
    child.unref()
    for (let tries = 0; tries < 100; tries++) {
      signal.throwIfAborted()
      if ((await this.row()).status === 'running') return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    refuse('engine_not_ready', { message: 'Ollama was started but doesn’t respond.' })
  }

  stop(): Promise<void> {
    return refuse('not_supported', { message: 'Ollama wasn’t started by Ukiyo. Stop it on the computer.' })
  }

  /** Throws if the server doesn't answer, since its models are unknown then. */
  async models(): Promise<ModelRow[]> {
    const [tags, running] = await Promise.all([
      this.#ask(Tags, 'GET', '/api/tags', null, 5_000),
      this.#ask(Running, 'GET', '/api/ps', null, 5_000),
    ])
    const loaded = new Map(running.models.map(({ name, context_length }) => [name, context_length]))
    return Promise.all(
      tags.models.map(async ({ name, size, digest, details }) => {
        const { embeds, ...facts } = await this.#factsOf(name, digest ?? '')
        const context_length = this.#contextOf(`${name} ${digest ?? ''}`, facts, loaded.get(name) ?? null)
        this.#served.set(name, context_length)
        return {
          name,
          engine: 'ollama' as const,
          size_bytes: size,
          digest: digest ?? null,
          context_length,
          embeds,
          quantization: details?.quantization_level ?? null,
          status: 'ready' as const,
          loaded: loaded.has(name),
        }
      }),
    )
  }

  #contextOf(key: string, { trained, asks }: Omit<Facts, 'embeds'>, loadedWith: number | null): number {
    if (loadedWith !== null) this.#loadedWith.set(key, loadedWith)
    return Math.min(this.#loadedWith.get(key) ?? asks ?? this.#context, trained ?? Infinity)
  }

  /** An empty request with `keep_alive` 0 unloads a model. */
  async unload(model: string | null): Promise<void> {
    const names =
      model === null ? (await this.#ask(Running, 'GET', '/api/ps', null)).models.map(({ name }) => name) : [model]
    for (const name of names) await this.#ask(z.unknown(), 'POST', '/api/generate', { model: name, keep_alive: 0 })
  }

  async remove(model: string): Promise<void> {
    await this.#ask(z.unknown(), 'DELETE', '/api/delete', { model })
  }

  async pull(model: string, progress: Progress, signal: AbortSignal): Promise<ModelRow> {
    progress('resolving', 0, 0)
    const layers: Layers = new Map()
    await throughCuts(() => this.#pull(model, layers, progress, signal), signal)
    const pulled = (await this.models()).find(({ name }) => name === model || name === `${model}:latest`)
    return pulled ?? refuse('upstream_error', { message: 'Ollama downloaded the model but doesn’t list it.' })
  }

  async #pull(model: string, layers: Layers, progress: Progress, signal: AbortSignal): Promise<void> {
    const body = Buffer.from(JSON.stringify({ model }))
    const response = await this.#send('POST', '/api/pull', body, { signal, timeout: PULL_SILENT_MS })
    if (response.statusCode !== 200) await this.#refuse(response)
    let isComplete = false
    try {
      for await (const line of linesOf(response)) {
        const status = parseResponse(Pulled, line)
        // Errors arrive inside a 200 response.
        if (status.error !== undefined)
          refuse('upstream_error', { param: 'source', message: `Ollama couldn’t download the model: ${status.error}.` })
        isComplete = status.status === 'success'
        if (status.status?.startsWith('verifying')) progress('verifying', summed(layers).total, summed(layers).total)
        if (status.digest === undefined || status.total === undefined) continue
        // Layers start one after the other, and a resumed layer restarts its count. Users never see the sum
        // decrease.
        const completed = Math.max(status.completed ?? 0, layers.get(status.digest)?.completed ?? 0)
        layers.set(status.digest, { completed: Math.min(completed, status.total), total: status.total })
        const sum = summed(layers)
        progress('downloading', sum.completed, sum.total)
      }
    } catch (error) {
      if (error instanceof Refusal) throw error
      isComplete = false
    }
    signal.throwIfAborted()
    if (!isComplete) throw new DownloadCut(summed(layers).completed, summed(layers).total || null)
  }

  async call({ model, path, body, signal }: Call): Promise<Answer> {
    const tooLong = path === 'chat/completions' ? this.#tooLong(model, body) : null
    if (tooLong !== null) return tooLong
    const response = await this.#send('POST', `/v1/${path}`, body, { signal, timeout: 0 })
    return {
      status: response.statusCode ?? 500,
      type: response.headers['content-type'] ?? 'application/json',
      body: response,
    }
  }

  /** Rejects requests that Ollama would silently truncate at the start. Null: it may fit. */
  #tooLong(model: string, body: Buffer): Answer | null {
    const context = this.#served.get(model)
    if (context === undefined || body.length <= context * BYTES_PER_TOKEN) return null
    const least = Math.floor(textBytes(tryJson(body.toString())) / BYTES_PER_TOKEN)
    if (least <= context) return null
    const message = `The conversation has more than ${least} tokens, and Ollama’s context for this model is ${context} tokens. Increase it on the computer with the model’s \`num_ctx\` or \`OLLAMA_CONTEXT_LENGTH\`.`
    const error = { message, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' }
    return { status: 400, type: 'application/json', body: Readable.from([Buffer.from(JSON.stringify({ error }))]) }
  }

  async #factsOf(name: string, digest: string): Promise<Facts> {
    const cached = this.#facts.get(`${name} ${digest}`)
    if (cached !== undefined) return cached
    const data = await this.#ask(Shown, 'POST', '/api/show', { model: name }).catch(() => null)
    if (data === null) return { trained: null, asks: null, embeds: false }
    const length = Object.entries(data.model_info ?? {}).find(([key]) => key.endsWith('.context_length'))?.[1]
    const facts = {
      trained: typeof length === 'number' ? length : null,
      asks: Number(/^num_ctx\s+"?(\d+)/m.exec(data.parameters ?? '')?.[1] ?? 0) || null,
      // Older servers report no capabilities.
      embeds: data.capabilities != null && data.capabilities.length > 0 && !data.capabilities.includes('completion'),
    }
    this.#facts.set(`${name} ${digest}`, facts)
    return facts
  }

  async #ask<T extends z.ZodType>(
    schema: T,
    method: string,
    path: string,
    body: object | null,
    timeout = 30_000,
  ): Promise<z.output<T>> {
    const response = await this.#send(method, path, body && Buffer.from(JSON.stringify(body)), { timeout })
    if (response.statusCode !== 200) await this.#refuse(response)
    return parseResponse(schema, (await textOf(response)).trim().split('\n').at(-1)!)
  }

  async #refuse(response: IncomingMessage): Promise<never> {
    const text = await textOf(response)
    const reason = z.object({ error: z.string() }).safeParse(tryJson(text))
    const message = reason.success ? reason.data.error : `status ${response.statusCode}`
    return refuse(response.statusCode === 404 ? 'not_found' : 'upstream_error', {
      message: `Ollama rejected the request: ${message}.`,
    })
  }

  #send(
    method: string,
    path: string,
    body: Buffer | null,
    { signal, timeout }: { signal?: AbortSignal; timeout: number },
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = request(new URL(path, this.#origin), {
        method,
        headers: body ? { 'content-type': 'application/json', 'content-length': body.length } : {},
        ...(signal && { signal }),
        ...(timeout > 0 && { timeout }),
      })
      outgoing.once('timeout', () => outgoing.destroy(new Error('no answer in time')))
      outgoing.once('response', resolve)
      outgoing.once('error', (error) => {
        if (signal?.aborted) return reject(signal.reason as Error)
        reject(new Refusal('engine_not_ready', { message: `Ollama doesn’t respond: ${error.message}.` }))
      })
      outgoing.end(body ?? undefined)
    })
  }
}

type Layers = Map<string, { completed: number; total: number }>

const summed = (layers: Layers): { completed: number; total: number } =>
  [...layers.values()].reduce((a, b) => ({ completed: a.completed + b.completed, total: a.total + b.total }), {
    completed: 0,
    total: 0,
  })

function textBytes(part: unknown): number {
  if (typeof part === 'string') return part.startsWith('data:') ? 0 : Buffer.byteLength(part)
  if (typeof part !== 'object' || part === null) return 0
  return Object.values(part).reduce<number>((sum, inner) => sum + textBytes(inner), 0)
}

/** Validates a response, since another program may be listening at Ollama's address. */
function parseResponse<T extends z.ZodType>(schema: T, json: string): z.output<T> {
  const { data, success } = schema.safeParse(tryJson(json))
  return success ? data : refuse('upstream_error', { message: 'Ollama returned an unexpected response.' })
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_ANSWER) refuse('upstream_error', { message: 'Ollama’s response is too long.' })
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = ''
  response.setEncoding('utf8')
  for await (const text of response as AsyncIterable<string>) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    if (rest.length > MAX_ANSWER) refuse('upstream_error', { message: 'Ollama’s response is too long.' })
    for (const line of lines) if (line.trim() !== '') yield line
  }
  // A partial line means the connection was cut.
  if (tryJson(rest) !== null) yield rest
}
