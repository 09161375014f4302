/**
 * A closed-loop load of HTTP/1.1 over keep-alive sockets: each connection sends, waits for the whole answer, sends
 * again. Written on node:net because its own cost per request must stay well below that of what is measured.
 */
import { type Socket, connect } from 'node:net'
import { AnswerReader } from './answer.ts'

export interface Load {
  port: number
  /** The whole request, head and body, as bytes. */
  request: Buffer
  connections: number
  seconds: number
  /**
   * Requests a second over all connections; without it each connection asks again at once. One that finds no free
   * connection waits for it, and its time counts from when it was due.
   */
  rate?: number
}

export interface Measured {
  requests: number
  seconds: number
  /** Microseconds. */
  p50: number
  p99: number
}

/** Throws on an answer whose status is not 200, on a connection that is closed, and on a byte behind an answer. */
export async function load({ port, request, connections, seconds, rate }: Load): Promise<Measured> {
  const latencies: number[] = []
  let stopping = false
  const startedAt = performance.now()
  /** Connections that wait for a request, where there is a rate. */
  const free: ((due: number) => void)[] = []
  const client = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').setNoDelay()
      const answer = new AnswerReader()
      let sentAt = 0
      const send = (due = performance.now()) => {
        sentAt = due
        answer.next()
        socket.write(request)
      }
      const next = () => {
        if (stopping) {
          socket.destroy()
          resolve()
        } else if (rate === undefined) send()
        else free.push(send)
      }
      socket.on('connect', next).on('error', reject)
      socket.on('close', () => (stopping ? resolve() : reject(new Error(`port ${port} closed the connection`))))
      socket.on('data', (part) => {
        try {
          if (!answer.read(part)) return
        } catch (error) {
          socket.destroy()
          return reject(new Error(`port ${port}`, { cause: error }))
        }
        latencies.push((performance.now() - sentAt) * 1000)
        next()
      })
      sockets.push(socket)
    })
  const sockets: Socket[] = []
  const clients = Array.from({ length: connections }, client)
  let due = startedAt
  const ticker =
    rate === undefined
      ? undefined
      : setInterval(() => {
          for (const now = performance.now(); due <= now && free.length > 0; due += 1000 / rate) free.shift()!(due)
        }, 1)
  const timer = setTimeout(() => {
    stopping = true
    clearInterval(ticker)
    // Connections that have nothing to wait for.
    if (rate !== undefined) setTimeout(() => sockets.forEach((socket) => socket.destroy()), 500)
  }, seconds * 1000)
  await Promise.all(clients)
  clearTimeout(timer)
  const elapsed = rate === undefined ? (performance.now() - startedAt) / 1000 : seconds
  latencies.sort((a, b) => a - b)
  const at = (q: number): number => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * q))] ?? 0
  return { requests: latencies.length, seconds: elapsed, p50: at(0.5), p99: at(0.99) }
}

/**
 * Asks until so many answers have come: what has run often is compiled, and a server that has run for a while is what is
 * asked for. Seconds would not do: on a busy machine they are too few requests.
 */
export async function warmUp(how: Omit<Load, 'seconds' | 'rate'>, requests: number): Promise<void> {
  for (let done = 0; done < requests;) done += (await load({ ...how, seconds: 0.5 })).requests
}

export interface Streamed {
  events: number
  /** Milliseconds until the first event, one per stream. */
  firstMs: number[]
}

/**
 * Streams of server-sent events: `atOnce` connections, each of which asks `each` times, one after the other. The first
 * event is the first that holds `mark`; `onFirst` gets the bytes that it came in.
 */
export async function streamLoad({
  port,
  request,
  atOnce,
  each,
  pauseMs = 0,
  mark = 'data: ',
  onFirst,
}: {
  port: number
  /** One for all, or that of the nth connection. */
  request: Buffer | ((n: number) => Buffer)
  atOnce: number
  each: number
  /** Between the end of one and the next. */
  pauseMs?: number
  mark?: string
  onFirst?: (text: string) => void
}): Promise<Streamed> {
  let events = 0
  const firstMs: number[] = []
  const client = (n: number) =>
    new Promise<void>((resolve, reject) => {
      const bytes = Buffer.isBuffer(request) ? request : request(n)
      const socket = connect(port, '127.0.0.1').setNoDelay()
      const answer = new AnswerReader()
      let left = each
      let sentAt = 0
      let first = true
      const send = () => {
        sentAt = performance.now()
        first = true
        answer.next()
        socket.write(bytes)
      }
      socket.on('connect', send).on('error', reject)
      socket.on('data', (part) => {
        const text = part.toString('latin1')
        for (let at = text.indexOf('data: '); at >= 0; at = text.indexOf('data: ', at + 6)) events += 1
        if (first && text.includes(mark)) {
          first = false
          firstMs.push(performance.now() - sentAt)
          onFirst?.(text)
        }
        try {
          if (!answer.read(part)) return
        } catch (error) {
          socket.destroy()
          return reject(new Error(`port ${port}`, { cause: error }))
        }
        if (--left > 0) return void (pauseMs > 0 ? setTimeout(send, pauseMs) : send())
        socket.destroy()
        resolve()
      })
      socket.on('close', () => (left > 0 ? reject(new Error(`port ${port} closed a stream`)) : undefined))
    })
  await Promise.all(Array.from({ length: atOnce }, (_, n) => client(n)))
  firstMs.sort((a, b) => a - b)
  return { events, firstMs }
}

export function post(path: string, headers: Record<string, string>, body: string): Buffer {
  const head = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  })
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  )
}

export function get(path: string, headers: Record<string, string>): Buffer {
  const head = Object.entries({ host: '127.0.0.1', ...headers })
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
}
