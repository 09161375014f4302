import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { z } from 'zod'
import { WebSocket } from 'ws'
import type { CallerSocket } from '#infra/caller-socket.ts'
import { resource } from '#core/access.ts'
import { endpoint, none } from '#core/contract.ts'
import { finder } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import type { Id } from '#core/ids.ts'

let leaveCount = 0
const echo: CallerSocket<any> = {
  name: 'test.echo',
  endpoint: endpoint('GET /test-echo/:id/:word', {
    summary: 'Say it again',
    access: resource('workspace', { scope: 'computer:exec' }),
    params: { word: z.string() },
    query: { from: z.coerce.number().int().min(0).default(0) },
    reply: none,
  }),
  finder: finder('workspace', async (_ctx, id: Id) => ({ id, workspace_id: id, updated_at: new Date() })),
  async open(ctx, { word, from }: { word: string; from: number }) {
    if (word === 'refused') refuse('computer_offline')
    ctx.signal.addEventListener('abort', () => leaveCount++)
    return (socket) =>
      socket.on('message', (bytes) => socket.send(`${word} ${from} ${String(bytes)} ${ctx.principal.accountId}`))
  },
}

const server = await testServer({ sockets: [echo] })
after(() => server[Symbol.asyncDispose]())
const alice = await server.person('Alice')
const bob = await server.person('Bob')
const path = `/v1/test-echo/${alice.workspaceId}/again`

function open(headers: Record<string, string>, at = path): WebSocket {
  return new WebSocket(`${server.origin.replace('http', 'ws')}${at}`, { headers })
}
async function refusal(headers: Record<string, string>, at = path): Promise<[number, string]> {
  const socket = open(headers, at)
  socket.on('error', () => {})
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, import('node:http').IncomingMessage]
  let text = ''
  for await (const part of response) text += String(part)
  assert.match(String(response.headers['x-request-id']), /^[0-9A-Z]{26}$/)
  const { error } = JSON.parse(text) as { error: { code?: string; type: string } }
  return [response.statusCode!, error.code ?? error.type]
}
async function exchange(socket: WebSocket, words: string): Promise<string> {
  if (socket.readyState === socket.CONNECTING) await once(socket, 'open')
  socket.send(words)
  const [bytes] = (await once(socket, 'message')) as [Buffer]
  return String(bytes)
}

test('a key opens allowed sockets and is refused before the handshake otherwise', async () => {
  const key = await alice.key()
  const socket = open(key.headers, `${path}?from=7`)
  assert.equal(await exchange(socket, 'hello'), `again 7 hello ${alice.id}`)
  const before = leaveCount
  socket.close()
  await once(socket, 'close')
  await until(
    () => Promise.resolve(leaveCount),
    (now) => now > before,
  )

  const narrow = await alice.key({ scopes: ['computer:read'] })
  assert.deepEqual(await refusal(narrow.headers), [403, 'missing_scope'])
  assert.deepEqual(await refusal({ authorization: 'Bearer uk_nonsense' }), [401, 'invalid_api_key'])
  assert.deepEqual(await refusal({}), [401, 'missing_credentials'])
  assert.deepEqual(await refusal((await bob.key()).headers), [404, 'not_found'])
  assert.deepEqual(await refusal(key.headers, `${path}?from=-1`), [400, 'invalid_parameter'])
  assert.deepEqual(await refusal(key.headers, path.replace('again', 'refused')), [409, 'computer_offline'])
})

test('a session opens sockets only from pages of the same origin', async () => {
  const { cookie } = alice.headers as { cookie: string }
  const own = open({ cookie, origin: server.origin })
  assert.equal(await exchange(own, 'x'), `again 0 x ${alice.id}`)
  own.close()
  assert.deepEqual(await refusal({ cookie, origin: 'https://evil.example' }), [403, 'cross_site'])
  assert.deepEqual(await refusal({ cookie }), [403, 'cross_site'])
  assert.deepEqual(await refusal({ cookie, origin: server.origin, host: 'evil.example' }), [421, 'misdirected_request'])
})

test('a socket closes within seconds after access ends', async () => {
  const key = await alice.key()
  const socket = open(key.headers)
  await once(socket, 'open')
  const closed = once(socket, 'close')
  await alice.delete(`/api-keys/${key.keyId}`)
  const [code] = await closed
  assert.equal(code, 1008)
})

test('a stopping server closes sockets so that clients reconnect elsewhere', async () => {
  const other = await server.twin()
  const key = await alice.key()
  const socket = new WebSocket(`${other.origin.replace('http', 'ws')}${path}`, { headers: key.headers })
  await once(socket, 'open')
  const closed = once(socket, 'close')
  await other[Symbol.asyncDispose]()
  assert.equal((await closed)[0], 1012)
})
