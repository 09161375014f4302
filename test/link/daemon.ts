import { once } from 'node:events'
import { WebSocket } from 'ws'
import { Mux, overWebSocket } from '#daemon-protocol/link.ts'
import { LARGEST_FRAME } from '#packages/mux/frames.ts'
import { type DaemonHello, PROTOCOL } from '#daemon-protocol/hello.ts'
import type { Answerer } from './pair.ts'
import type { Caller } from '../server.ts'

export interface Paired {
  id: string
  credential: string
}

/** A paired machine without a link. */
export async function pairedBy(person: Caller, more: object = {}): Promise<Paired> {
  const response = await person.post('/computer-pairings', {})
  const { token } = response.body.data
  const answer = await person.post('/computers/pair', { token, name: 'Box', ...machine, ...more })
  if (answer.status !== 201) throw new Error(answer.text)
  const { computer, credential } = answer.body.data
  return { id: computer.id, credential }
}

const machine = { os: 'linux', arch: 'x64', hostname: 'box', daemon_version: '0', protocol: 1 }

export const hello: DaemonHello = {
  ...machine,
  protocol: PROTOCOL,
  boot_id: null,
  keeper_id: null,
  allows: ['exec', 'terminal', 'fs_read', 'fs_write', 'ports', 'inference', 'users'],
  release: null,
  failed_update: null,
}

export interface Linked extends Disposable {
  mux: Mux
  /** The server's first message. */
  greeting: Record<string, unknown>
  /** The link's close code. */
  closed: Promise<number>
}

/** A daemon's side of a link. Rejects with the status of a refused handshake. */
export async function linkUp(
  origin: string,
  credential: string,
  answer: Answerer = () => Promise.resolve({}),
  words: object = hello,
): Promise<Linked> {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/computers/link`, {
    headers: { authorization: `Bearer ${credential}` },
    perMessageDeflate: false,
    maxPayload: LARGEST_FRAME,
  })
  const refusal = new Promise<never>((_, reject) => {
    socket.once('unexpected-response', (_request, response) => {
      response.resume()
      reject(Object.assign(new Error(`refused with ${response.statusCode}`), { status: response.statusCode }))
    })
    socket.once('error', reject)
  })
  await Promise.race([once(socket, 'open'), refusal])
  refusal.catch(() => {})
  const greeted = Promise.withResolvers<Record<string, unknown>>()
  const closed = Promise.withResolvers<number>()
  const mux = overWebSocket(socket, {
    opens: 'odd',
    onHello: greeted.resolve,
    answer,
    onClose(code) {
      closed.resolve(code)
      greeted.reject(new Error(`closed with ${code}`))
    },
  })
  mux.hello(words)
  return {
    mux,
    greeting: await greeted.promise,
    closed: closed.promise,
    [Symbol.dispose]: () => mux.close(1000, 'done'),
  }
}
