/**
 * The near end of a link under measurement, which does what the daemon does: `near.ts mux|ws PORT MEGABYTES`. Prints one
 * row as JSON: how fast bytes went each way, how long a key took beside them, and what that cost.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { type Mux, type OperationRequest, overWebSocket } from '../../src/daemon-protocol/link.ts'
import { LARGEST_FRAME } from '../../packages/mux/src/frames.ts'
import type { OperationName } from '../../src/daemon-protocol/operations.ts'
import { measured, median } from '../measure/process.ts'

const [how, port, megabytes] = process.argv.slice(2) as ['mux' | 'ws', string, string]
const BYTES = Number(megabytes) * 1_000_000
const KEY_MS = 10

interface Way {
  up(bytes: number): Promise<void>
  down(bytes: number): Promise<void>
  /** One key there and back. */
  key(): Promise<void>
}

const socket = new WebSocket(`ws://127.0.0.1:${port}`, {
  perMessageDeflate: false,
  maxPayload: LARGEST_FRAME,
  skipUTF8Validation: true,
  // As the daemon does on this machine and within TLS.
  generateMask: () => {},
})
await once(socket, 'open')
const way = how === 'mux' ? await withStreams() : bare()
const self = measured(process.pid)
const idleMegabytes = self.rssMegabytes()
let mostMegabytes = 0
const watching = setInterval(() => (mostMegabytes = Math.max(mostMegabytes, self.rssMegabytes())), 20)

await way.up(BYTES / 10)
await way.down(BYTES / 10)
const alone = await keys(sleep(2_000))
const up = await timed(() => way.up(BYTES))
const down = await timed(() => way.down(BYTES))
const beside = await keys(Promise.all([way.up(BYTES), way.down(BYTES)]))
clearInterval(watching)
process.stdout.write(
  `${JSON.stringify({ name: how, up: up.rate, down: down.rate, cpuUp: up.cpu, cpuDown: down.cpu, alone: of(alone), beside: of(beside), idleMegabytes, mostMegabytes })}\n`,
)
process.exit()

async function timed(work: () => Promise<void>): Promise<{ rate: number; cpu: number }> {
  const cpu = self.cpuSeconds()
  const from = performance.now()
  await work()
  return { rate: BYTES / 1_000 / (performance.now() - from), cpu: self.cpuSeconds() - cpu }
}

async function keys(until: Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  const going = new AbortController()
  void until.then(() => going.abort())
  while (!going.signal.aborted) {
    const from = performance.now()
    await way.key()
    times.push(performance.now() - from)
    await sleep(KEY_MS)
  }
  return times
}

function of(times: readonly number[]): { p50: number; p95: number; n: number } {
  const sorted = times.toSorted((a, b) => a - b)
  return { p50: median(sorted), p95: sorted[Math.floor(sorted.length * 0.95)] ?? NaN, n: sorted.length }
}

async function withStreams(): Promise<Way> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const mux: Mux = overWebSocket(socket, { opens: 'odd', onHello: () => resolve(), answer: () => Promise.resolve({}) })
  mux.hello({})
  await promise
  mux.ping()
  const open = (does: string, bytes = 0) =>
    mux.open({ op: 'bench', input: { does, bytes } } as OperationRequest & { op: OperationName })
  const echo = open('echo')
  const back = echo[Symbol.asyncIterator]()
  const chunk = Buffer.alloc(65_536, 7)
  return {
    async up(bytes) {
      const stream = open('sink')
      for (let sent = 0; sent < bytes; sent += chunk.length) await stream.write(chunk)
      stream.finish()
      await stream.output
    },
    async down(bytes) {
      let came = 0
      for await (const item of open('source', bytes)) if (item.type === 'bytes') came += item.bytes.length
      if (came < bytes) throw new Error(`${came} of ${bytes} came`)
    },
    async key() {
      const next = back.next()
      await echo.write(Buffer.from('k'))
      await next
    },
  }
}

function bare(): Way {
  const chunk = Buffer.alloc(65_536, 7)
  let back = (): void => {}
  let said = (_text: string): void => {}
  let came = 0
  socket.on('message', (message: Buffer, isBinary) => {
    if (!isBinary) said(String(message))
    else if (message.length < 1_024) back()
    else came += message.length
  })
  // Up and down at once answer in either order: `done` is of the bytes that came, a number of those that went.
  const waiting: { number: ((count: number) => void) | null; done: (() => void) | null } = { number: null, done: null }
  said = (text) => (text === 'done' ? waiting.done?.() : waiting.number?.(Number(text)))
  return {
    async up(bytes) {
      for (let sent = 0; sent < bytes; sent += chunk.length) {
        if (socket.bufferedAmount > 262_144) await new Promise<void>((resolve) => socket.send(chunk, () => resolve()))
        else socket.send(chunk)
      }
      socket.send('0')
      await new Promise<number>((resolve) => (waiting.number = resolve))
    },
    async down(bytes) {
      came = 0
      socket.send(String(bytes))
      await new Promise<void>((resolve) => (waiting.done = resolve))
      if (came < bytes) throw new Error(`${came} of ${bytes} came`)
    },
    key: () =>
      new Promise((resolve) => {
        back = resolve
        socket.send(Buffer.from('k'))
      }),
  }
}
