import { once } from 'node:events'
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import type { Shape } from '#gateway/model/offer.ts'
import { type World, pricedModel } from '../world.ts'

type Json = Record<string, any>

export interface ReceivedRequest {
  path: string
  headers: IncomingHttpHeaders
  body: Json
}

/** Writes one answer, byte for byte. */
export type Script = (response: ServerResponse, request: ReceivedRequest) => void

/** A loopback provider whose answers each test writes byte for byte. */
export interface ScriptedVendor extends AsyncDisposable {
  origin: string
  received: ReceivedRequest[]
  /** The script for all answers from now on. */
  script: Script
}

export async function startScripted(): Promise<ScriptedVendor> {
  const requests: ReceivedRequest[] = []
  const state: Pick<ScriptedVendor, 'received' | 'script'> = {
    received: requests,
    script: (response) => void response.end(),
  }
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = []
    response.on('error', () => {})
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', () => {
      const one = {
        path: incoming.url!,
        headers: incoming.headers,
        body: JSON.parse(Buffer.concat(parts).toString() || '{}') as Json,
      }
      requests.push(one)
      state.script(response, one)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return Object.assign(state, {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

/** A provider shape: how its endpoint is added, and its wire format. */
export interface Wire {
  name: string
  shape: Shape
  /** Fields of the endpoint. */
  endpoint: (origin: string) => object
  model: string
  type: string
  /** The events of a stream: `[name, data]`, or only data. */
  stream: (events: readonly Event[]) => Buffer
}

export type Event = object | string | readonly [name: string, data: object]

const sse = (events: readonly Event[]): Buffer =>
  Buffer.from(
    events
      .map((event) => {
        if (typeof event === 'string') return `data: ${event}\n\n`
        if (Array.isArray(event)) return `event: ${String(event[0])}\ndata: ${JSON.stringify(event[1])}\n\n`
        const { type } = event as { type?: unknown }
        return `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`
      })
      .join(''),
  )

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
)
/** Messages of `application/vnd.amazon.eventstream`. */
const amazon = (events: readonly Event[]): Buffer =>
  Buffer.concat(
    events.map((event) => {
      const [name, data] = event as readonly [string, object]
      return codec.encode({
        headers: {
          ':event-type': { type: 'string', value: name },
          ':message-type': { type: 'string', value: 'event' },
        },
        body: Buffer.from(JSON.stringify(data)),
      })
    }),
  )

const events = 'text/event-stream'
const at = (path: string) => (origin: string) => ({ base_url: origin + path })

export const wires = {
  chat: {
    name: 'chat',
    shape: 'openai-chat',
    endpoint: at('/v1'),
    model: 'm',
    type: events,
    stream: (all) => sse([...all, '[DONE]']),
  },
  responses: {
    name: 'responses',
    shape: 'openai-responses',
    endpoint: at('/v1'),
    model: 'm',
    type: events,
    stream: sse,
  },
  anthropic: {
    name: 'anthropic',
    shape: 'anthropic-messages',
    endpoint: at(''),
    model: 'm',
    type: events,
    stream: sse,
  },
  gemini: {
    name: 'gemini',
    shape: 'gemini',
    endpoint: at('/v1beta'),
    model: 'gemini-3-pro-preview',
    type: events,
    stream: sse,
  },
  ollama: {
    name: 'ollama',
    shape: 'ollama',
    endpoint: at(''),
    model: 'm',
    type: events,
    stream: (all) => sse([...all, '[DONE]']),
  },
  converse: {
    name: 'converse',
    shape: 'anthropic-messages',
    endpoint: (origin) => ({ base_url: origin, preset: 'bedrock', headers: { 'x-uk-region': 'us-east-1' } }),
    model: 'amazon.nova-pro-v1:0',
    type: 'application/vnd.amazon.eventstream',
    stream: amazon,
  },
} as const satisfies Record<string, Wire>

export type WireName = keyof typeof wires
export const allWires: readonly Wire[] = Object.values(wires)

/** Adds an endpoint per shape at this provider; its model is `<slug>/<model>`. */
export async function bringWires(world: World, vendor: ScriptedVendor, more: object = {}): Promise<void> {
  const answers = await Promise.all(
    allWires.map(({ name, shape, endpoint, model }) =>
      world.person.post('/ai-gateway/provider-endpoints', {
        name,
        slug: name,
        shape,
        api_key: 'sk-test',
        test: false,
        models: [pricedModel(model, { capabilities: ['vision', 'tools', 'reasoning', 'json_schema'], ...more })],
        ...endpoint(vendor.origin),
      }),
    ),
  )
  for (const answer of answers) if (answer.status !== 201) throw new Error(answer.text)
}

export const modelOf = ({ name, model }: Wire): string => `${name}/${model}`

/** Sends a whole answer, as JSON unless `headers` say otherwise. */
export const whole =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Script =>
  (response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))

export const streamEvents =
  (wire: Wire, all: readonly Event[]): Script =>
  (response) =>
    void response.writeHead(200, { 'content-type': wire.type }).end(wire.stream(all))

/** Answers in the requested format; every shape's request states it. */
export const asAsked =
  (wire: Wire, answer: { whole: unknown; events: readonly Event[] }): Script =>
  (response, request) =>
    (isStreamed(request) ? streamEvents(wire, answer.events) : whole(answer.whole))(response, request)

const isStreamed = ({ path, body }: ReceivedRequest): boolean => body['stream'] === true || /stream/i.test(path)
