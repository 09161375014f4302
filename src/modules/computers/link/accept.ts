import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type Mux, overWebSocket } from '#daemon-protocol/link.ts'
import type { Engine } from '#infra/context.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { UpgradeMount } from '#core/http/exchange.ts'
import type { Id } from '#core/ids.ts'
import { DaemonHello, OLDEST_PROTOCOL, PROTOCOL, type ServerHello, readHello } from '#daemon-protocol/hello.ts'
import { LARGEST_FRAME, Violation } from '#packages/mux/frames.ts'
import { CLOSE } from '#packages/mux/mux.ts'
import { type Machine, findMachine } from '../pairing/credentials.ts'
import { drawUpdateDelayMs } from '../install/spread.ts'
import type { LiveLinks } from './live-links.ts'

const PATH = '/v1/computers/link'
const HELLO_MS = 10_000
/** All daemons reconnect at once after an outage. */
const MAX_LOOKUPS = 64
/** Counts the link, links still closing, and connections before HELLO. */
const MAX_PER_MACHINE = 8

export interface Offers {
  of(platform: string): Promise<{ version: string; sha256: string; size: number }>
}

/** Only accepts `Authorization: Bearer ukm_…`. */
export function linkMount(engine: Engine, links: LiveLinks, offers: Offers): UpgradeMount {
  const handshake = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: LARGEST_FRAME,
    skipUTF8Validation: true,
  })
  let lookups = 0
  const open = new Map<Id, number>()
  function count({ computerId }: Machine, socket: Duplex): void {
    const others = open.get(computerId) ?? 0
    if (others >= MAX_PER_MACHINE) refuse('unavailable', { message: 'This computer has too many open connections.' })
    open.set(computerId, others + 1)
    socket.once('close', () => {
      const remaining = open.get(computerId)! - 1
      if (remaining === 0) open.delete(computerId)
      else open.set(computerId, remaining)
    })
  }

  return {
    owns: (path) => path === PATH,
    async upgrade(request, socket, head) {
      if (lookups >= MAX_LOOKUPS) refuse('unavailable', { headers: { 'retry-after': String(1 + (Date.now() % 5)) } })
      lookups++
      try {
        const machine = await machineOf(engine, request)
        if (socket.destroyed) return
        count(machine, socket)
        handshake.handleUpgrade(request, socket, head, (webSocket) => accept(engine, links, offers, machine, webSocket))
      } finally {
        lookups--
      }
    },
    drain: () => links.drain(),
    end: () => links.end(),
  }
}

async function machineOf(engine: Engine, { headers }: IncomingMessage): Promise<Machine> {
  const [, credential] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? []
  if (credential === undefined)
    return refuse('missing_credentials', {
      message: 'Send the credential of the computer as `Authorization: Bearer ukm_…`.',
    })
  return (
    (await findMachine(engine.postgres.db, credential)) ??
    refuse('invalid_credentials', {
      message: 'This credential isn’t valid. The computer was deleted, or paired again.',
    })
  )
}

function accept(engine: Engine, links: LiveLinks, offers: Offers, machine: Machine, socket: WebSocket): void {
  const late = setTimeout(() => mux.close(CLOSE.violation, 'no HELLO came'), HELLO_MS).unref()
  const mux = overWebSocket(socket, {
    opens: 'even',
    onHello(message) {
      clearTimeout(late)
      const hello = readHello(DaemonHello, message)
      if (hello.protocol < OLDEST_PROTOCOL)
        throw new Violation(
          `protocol ${hello.protocol} is too old: this server speaks ${OLDEST_PROTOCOL} to ${PROTOCOL}`,
        )
      void greet(hello)
    },
    // Daemons don't send requests.
    answer: () => Promise.reject(new Refusal('not_found', { message: 'A server answers no operations of a daemon.' })),
    onFault: (error) =>
      engine.log.error({ error, computer_id: machine.computerId }, 'what a computer said could not be taken'),
    onClose(code, reason) {
      clearTimeout(late)
      engine.log.debug({ computer_id: machine.computerId, code, reason }, 'a link of a computer is over')
      links.gone(mux, machine.computerId, code)
    },
  })

  async function greet(hello: DaemonHello): Promise<void> {
    try {
      const update = await offerTo(engine, offers, machine, hello, mux)
      const isAdded = await links.add(machine, mux, hello, (epoch) =>
        mux.hello({
          protocol: Math.min(PROTOCOL, hello.protocol),
          server_version: engine.versions.newest,
          computer_id: machine.computerId,
          epoch,
          update,
        }),
      )
      if (isAdded) mux.ping()
      else mux.close(CLOSE.restart, 'another link was faster')
    } catch (error) {
      engine.log.error({ error, computer_id: machine.computerId }, 'a link of a computer could not be taken')
      mux.close(CLOSE.restart, 'the server failed')
    }
  }
}

/** How long the first links after a start wait for the bundle. */
const BUNDLED_MS = 3_000

/** Null: no release, an old daemon, or a release that recently failed there. */
async function offerTo(
  { log, postgres }: Engine,
  offers: Offers,
  { computerId }: Machine,
  { protocol, release, failed_update, os, arch }: DaemonHello,
  mux: Mux,
): Promise<ServerHello['update']> {
  if (protocol < 2 || release === null) return null
  const isNew = (sha256: string): boolean => sha256 !== release && sha256 !== failed_update?.sha256
  try {
    const releasePromise = offers.of(`${os}-${arch}`)
    const offer = await withTimeout(releasePromise, BUNDLED_MS)
    if (offer === null) {
      // The machine reconnects at once and gets the offer then.
      releasePromise
        .then(({ sha256 }) => isNew(sha256) && mux.close(CLOSE.restart, 'there is another version now'))
        .catch(() => {})
      return null
    }
    const { version, sha256, size } = offer
    if (isNew(sha256)) return { version, sha256, size, wait_ms: await drawUpdateDelayMs(postgres.db) }
    if (failed_update?.sha256 === sha256)
      log.warn({ computer_id: computerId, sha256, why: failed_update.why }, 'a computer could not be updated')
  } catch {
    // No release for this platform; already logged.
  }
  return null
}

async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => (timer = setTimeout(resolve, ms, null)))
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
