// The HTTP part of a loopback vendor: reads and records requests, applies the scripted behavior, leaves the rest to
// `play`.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { deliver, type Answer, type Whole } from './delivery/deliver.ts'
import type { Shelf } from './shelf.ts'
import type { Behaviour, Json, RecordedRequest, Refusal, Vendor } from './vendor.ts'

/** `key`: the caller, once the vendor knows it. `behaviour`: an answer may replace it, such as a link's own. */
export type Call = { request: RecordedRequest; method: string; path: string; behaviour: Behaviour; key?: string }

/** What a vendor adds: its answers, its error envelope, its headers. */
export type Play = {
  key: string
  /** Its stored objects; undefined: it stores nothing. */
  shelf?: Shelf | undefined
  otherwise?: Behaviour | undefined
  /** Routing, checks, and the normal answer. A `Whole` of 400 or more wins over the script. */
  answer(call: Call): Answer | Promise<Answer>
  /** A scripted error before the first byte. */
  failure(behaviour: Behaviour & { status: number }, call: Call): Whole
  /** The refusals of a model vendor. */
  refusals?: Record<Refusal, (call: Call) => Whole> | undefined
  headers(call: Call): Record<string, string>
}

export async function serve(play: Play): Promise<Vendor> {
  const requests: RecordedRequest[] = []
  const script = new Script(play.otherwise)
  const waiting: { index: number; resolve: (request: RecordedRequest) => void }[] = []

  const server = createServer((message, response) => {
    const behaviour = script.take(message)
    void handle(play, message, response, behaviour, (request) => {
      const index = requests.push(request) - 1
      for (const waiter of waiting.filter((one) => one.index === index)) waiter.resolve(request)
    })
  })
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: play.key,
    requests,
    script: (...next) => script.add(next),
    keep: (thing) => {
      if (!play.shelf) throw new Error('This vendor keeps nothing.')
      return play.shelf.put(thing)
    },
    unscript: () => script.drop(),
    pending: () => script.left(),
    arrival: async (index = 0) => {
      const request = requests[index]
      return request ?? (await new Promise((resolve) => waiting.push({ index, resolve })))
    },
    [Symbol.asyncDispose]: async () => {
      const closing = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closing
    },
  }
}

class Script {
  readonly #otherwise: Behaviour
  #queue: { behaviour: Behaviour; left: number }[] = []

  constructor(otherwise: Behaviour = {}) {
    this.#otherwise = otherwise
  }

  add(next: Behaviour[]): void {
    for (const behaviour of next) this.#queue.push({ behaviour, left: behaviour.times ?? 1 })
  }

  take({ method, url }: IncomingMessage): Behaviour {
    const route = `${method} ${pathOf(url)}`
    const entry = this.#queue.find(({ behaviour }) => (behaviour.on ? isRoute(behaviour.on, route) : method === 'POST'))
    if (!entry) return this.#otherwise
    entry.left -= 1
    if (entry.left <= 0) this.#queue = this.#queue.filter((one) => one !== entry)
    return entry.behaviour
  }

  drop(): void {
    this.#queue = []
  }

  left(): number {
    return this.#queue.reduce((sum, entry) => sum + entry.left, 0)
  }
}

async function handle(
  play: Play,
  message: IncomingMessage,
  response: ServerResponse,
  behaviour: Behaviour,
  record: (request: RecordedRequest) => void,
): Promise<void> {
  const clientGone = new AbortController()
  const answerEnd = Promise.withResolvers<void>()
  const url = new URL(message.url ?? '/', 'http://loopback')
  const request: RecordedRequest = {
    method: message.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: message.headers,
    body: Buffer.alloc(0),
    json: () => JSON.parse(request.body.toString('utf8')) as Json,
    aborted: false,
    at: Date.now(),
    ended: answerEnd.promise,
  }
  let ours = false
  response.once('close', () => {
    request.aborted = !ours && !response.writableFinished
    clientGone.abort()
    answerEnd.resolve()
  })
  response.on('error', () => clientGone.abort())
  const whole = await readBody(message)
  request.body = whole.body
  record(request)
  if (!whole.complete) return

  const call: Call = { request, method: request.method, path: request.path, behaviour }
  let answer = await play.answer(call)
  const isRefusal = 'body' in answer && answer.status >= 400
  if (!isRefusal) answer = scriptedAnswer(play, call, answer)
  if (failsFirst(call.behaviour)) request.seen = undefined
  await deliver(response, answer, isRefusal ? {} : call.behaviour, {
    signal: clientGone.signal,
    headers: { ...play.headers(call), ...call.behaviour.headers },
    breakOff: () => {
      ours = true
      response.destroy()
    },
  })
}

/** The script ends the request before a model sees it. */
export function failsFirst({ status, refuses }: Behaviour): boolean {
  return status !== undefined || refuses !== undefined
}

function scriptedAnswer(play: Play, call: Call, answer: Answer): Answer {
  const { behaviour } = call
  if (behaviour.refuses !== undefined) {
    if (!play.refusals) throw new Error('This vendor turns nobody away.')
    return play.refusals[behaviour.refuses](call)
  }
  if (behaviour.status !== undefined) return play.failure({ ...behaviour, status: behaviour.status }, call)
  if (!behaviour.midStreamError || !('body' in answer)) return answer
  const error = behaviour.midStreamError === true ? {} : behaviour.midStreamError
  return play.failure({ ...error, status: error.status ?? 500 }, call)
}

async function readBody(message: IncomingMessage): Promise<{ body: Buffer; complete: boolean }> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer)
  } catch {
    return { body: Buffer.concat(chunks), complete: false }
  }
  return { body: Buffer.concat(chunks), complete: true }
}

/** `GET /v1/videos/*`: with any suffix. */
function isRoute(on: string, route: string): boolean {
  return on.endsWith('*') ? route.startsWith(on.slice(0, -1)) : route === on
}

function pathOf(url = '/'): string {
  return new URL(url, 'http://loopback').pathname
}
