import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

const MINUTE = 60_000

/** Waits of a minute or more take a six-hundredth of it, until they are given back. */
function hurried(): Disposable {
  const wait = globalThis.setTimeout
  const quick = (work: () => void, ms: number, ...more: []) => wait(work, ms >= MINUTE ? ms / 600 : ms, ...more)
  globalThis.setTimeout = quick as typeof setTimeout
  return { [Symbol.dispose]: () => void (globalThis.setTimeout = wait) }
}

test('who never ends a body is left: in a minute once it is answered, in ten where it is read', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const left: string[] = []
  const begin = async (head: string, answered: boolean): Promise<unknown> => {
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
    const ended = new Promise((resolve) => socket.on('error', () => {}).on('close', resolve))
    const answer = answered ? once(socket, 'data') : null
    socket.write(`${head} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n`)
    socket.write(answered ? '\r\n{' : `authorization: Bearer ${key}\r\n\r\n{`)
    await answer
    // One byte more: what an idle connection is ended by begins anew.
    socket.write(' ')
    return ended.then(() => left.push(answered ? 'answered' : 'read'))
  }
  using _hurry = hurried()
  await Promise.all([
    begin('POST /v1/chats', false),
    begin('POST /compat-a/v1/chat/completions', false),
    begin('POST /v1/chats', true),
    begin('GET /healthz', true),
    begin('POST /compat-a/v1/chat/completions', true),
    begin('GET /docs', true),
  ])
  assert.deepEqual(left, ['answered', 'answered', 'answered', 'answered', 'read', 'read'])
})
