import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOf } from '../../packages/client/src/client.ts'
import type { Routes } from '../../packages/client/src/route.ts'
import { testServer } from '../server.ts'

const routes: Routes = {
  chats: {
    create: { method: 'POST', path: '/chats', answer: 'one' },
    send: { method: 'POST', path: '/chats/{id}/messages', answer: 'operation' },
    messages: { method: 'GET', path: '/chats/{id}/messages', answer: 'page' },
    get: { method: 'GET', path: '/chats/{id}', answer: 'one' },
  },
  computers: { read: { method: 'GET', path: '/computers/{id}/files/{+path}', answer: 'bytes' } },
}
type Method = (input: object) => Promise<any>

test('a rate-limited message is sent once: its run fails, and the message is kept', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const client = clientOf(routes, { origin: server.origin, key }) as { chats: Record<string, Method> }
  const { id } = await client.chats.create!({ title: 'Busy' })
  const content = JSON.stringify({ steps: [{ error: { type: 'rate_limited', message: 'busy' } }] })
  await assert.rejects(client.chats.send!({ id, content, model: 'sim/script' }), { status: 429 })
  const { data } = await client.chats.messages!({ id })
  assert.equal(data.filter((one: any) => one.role === 'user').length, 1)
})

test('a path parameter can’t lead to another endpoint', async () => {
  const asked: string[] = []
  const fetch = async (url: string | URL | Request) => {
    asked.push(new URL(url instanceof Request ? url.url : url).pathname)
    return new Response('{"data":{}}', { headers: { 'content-type': 'application/json' } })
  }
  const client = clientOf(routes, { origin: 'http://127.0.0.1:9', key: 'uk_x', fetch }) as {
    chats: Record<string, Method>
    computers: Record<string, Method>
  }
  for (const id of ['.', '..']) await assert.rejects(async () => client.chats.get!({ id }), TypeError)
  await assert.rejects(async () => client.computers.read!({ id: 'x', path: 'a/../../../../me' }), TypeError)
  await client.computers.read!({ id: 'x', path: 'a/..b/.c/d e' })
  assert.deepEqual(asked, ['/v1/computers/x/files/a/..b/.c/d%20e'])
})
