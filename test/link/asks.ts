/** Sends each operation of the link, through its route where one exists. */
import { request as httpRequest } from 'node:http'
import { WebSocket } from 'ws'
import { newId } from '#core/ids.ts'
import type { OperationName } from '#daemon-protocol/operations.ts'
import type { TwoServers } from '../two-servers.ts'
import type { Caller, Person } from '../server.ts'
import { PATIENCE_MS, until } from '../until.ts'

/** The final response; empty on success. */
export interface Outcome {
  status: number
  error?: { type?: string; code?: string; message?: string; param?: string; details?: Record<string, unknown> }
}
type Ask = (id: string, caller: Caller) => Promise<Outcome>

export function asksOf({ server, twin, alice, beyond }: Pick<TwoServers, 'server' | 'twin' | 'alice' | 'beyond'>) {
  const programs = alice.key()
  const outcomeOf = (answer: Promise<{ status: number; body: any }>): Promise<Outcome> =>
    answer.then(({ status, body }) => ({ status, error: body?.error }))
  const post =
    (path: string, body: object): Ask =>
    (id, caller) =>
      outcomeOf(caller.post(`/computers/${id}/${path}`, body))
  const get =
    (path: string): Ask =>
    (id, caller) =>
      outcomeOf(caller.get(`/computers/${id}/${path}`))
  const terminal = (body: object): Ask => post('terminal', { terminal_id: 't', ...body })
  const fs = (body: object): Ask => post('fs', { path: '/x', ...body })
  /** Operations without a route. */
  const inside =
    (op: OperationName, input: object): Ask =>
    async (id, caller) => {
      const { links } = (caller === beyond ? twin : server).app.engine
      const signal = AbortSignal.timeout(PATIENCE_MS)
      return links.ask(id, op, input as never, { signal }).then(
        () => ({ status: 200 }),
        ({ status, type, code, message, param, details }) => ({
          status,
          error: { type, code, message, param, details },
        }),
      )
    }

  const asks: Record<OperationName, Ask> = {
    'daemon.probe': post('test-connection', {}),
    'daemon.rotate': post('rotate-credential', { overlap_seconds: 3_600 }),
    exec: post('exec', { command: 'cat', stdin: 'x' }),
    'exec.write': async (id, caller) => {
      const command = newId()
      await server.app.engine.postgres.pool.query(
        'insert into open_stdins (exec_id, computer_id, account_id) values ($1, $2, $3)',
        [command, id, alice.id],
      )
      return post(`exec/${command}/stdin`, { offset: 0, data: 'x' })(id, caller)
    },
    'exec.kill': inside('exec.kill', { key: 'x', signal: null }),
    'terminal.open': post('terminal', { action: 'open' }),
    'terminal.list': post('terminal', { action: 'list' }),
    'terminal.write': terminal({ action: 'write', data: 'x' }),
    'terminal.resize': terminal({ action: 'resize', cols: 1, rows: 1 }),
    'terminal.close': terminal({ action: 'close' }),
    'terminal.read': terminal({ action: 'read' }),
    'terminal.attach': (id, caller) => attached(id, caller.origin),
    'fs.start': fs({ op: 'stat', path: undefined }),
    'fs.list': fs({ op: 'list' }),
    'fs.stat': fs({ op: 'stat' }),
    'fs.mkdir': fs({ op: 'mkdir' }),
    'fs.remove': fs({ op: 'remove' }),
    'fs.read': get('fs/download?path=/x'),
    'fs.upload_offset': get('fs/upload?path=/x'),
    'fs.upload_drop': inside('fs.upload_drop', { path: '/x', key: 'k' }),
    'fs.write': (id, caller) => upload(id, caller, 10),
    'ports.list': get('ports'),
    'ports.dial': (id, caller) => previewed(id, caller.origin),
    'users.list': get('users'),
    'users.create': post('users', { username: 'ada' }),
    'users.update': (id, caller) => outcomeOf(caller.patch(`/computers/${id}/users/ada`, { groups: [] })),
    'users.delete': (id, caller) => outcomeOf(caller.delete(`/computers/${id}/users/ada`)),
    'engine.control': post('local-inference', { action: 'status' }),
    'engine.models': inside('engine.models', {}),
    'engine.install': async (id, caller) => {
      const { body } = await caller.post(`/computers/${id}/local-inference/models`, {
        name: `m${Math.random().toString(36).slice(2)}`,
        source: { url: 'https://models.example/m.gguf' },
      })
      return inTheEnd(body.data.id)
    },
    'engine.remove': inside('engine.remove', { name: 'x' }),
    'engine.call': inside('engine.call', { model: 'x', path: 'embeddings' }),
  }

  const upload = (id: string, caller: Caller, size: number): Promise<Outcome> =>
    outcomeOf(
      caller.request('POST', `/computers/${id}/fs/upload?path=/x`, Buffer.alloc(size), {
        'content-type': 'application/octet-stream',
      }),
    )

  const inTheEnd = (operation: string): Promise<Outcome> => endOf(alice, operation)
  const attached = (id: string, origin: string): Promise<Outcome> => attach(alice, id, origin)
  const previewed = async (id: string, origin: string): Promise<Outcome> => preview((await programs).key, id, origin)
  return { asks, attached, inTheEnd, terminal, upload }
}

async function endOf(alice: Person, operation: string): Promise<Outcome> {
  const { body } = await until(
    () => alice.get(`/operations/${operation}/await?timeout_seconds=5`),
    (answer) => answer.body.data?.completed_at !== null,
  )
  return { status: body.data.status === 'failed' ? 500 : 200, error: body.data.error ?? undefined }
}

function attach(alice: Person, id: string, origin: string): Promise<Outcome> {
  const { cookie = '', authorization = '' } = alice.headers
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/computers/${id}/terminals/t/attach`, {
    headers: { origin, ...(cookie && { cookie }), ...(authorization && { authorization }) },
  })
  return new Promise((resolve) => {
    socket.once('unexpected-response', (_, response) => resolve({ status: response.statusCode! }))
    socket.once('close', (code, reason) =>
      resolve({ status: code === 1000 ? 200 : 500, error: { message: String(reason), type: 'closed' } }),
    )
    socket.on('error', () => {})
  })
}

/** Opens a preview with a key. A ticket would first check for a listener. */
function preview(key: string, id: string, origin: string): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const host = `p4321-${id.toLowerCase()}.localhost:${new URL(origin).port}`
    httpRequest(new URL('/', origin), { headers: { host, authorization: `Bearer ${key}` } }, (response) => {
      const status = response.statusCode!
      response.resume().once('close', () => resolve({ status, error: { type: 'page', message: 'a page' } }))
    })
      .once('error', reject)
      .end()
  })
}
