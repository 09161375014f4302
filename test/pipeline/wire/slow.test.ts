import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { testServer } from '../../server.ts'

const MINUTE = 60_000

/** Speeds up timers of at least `from` by 600 until disposed of. */
function speedUpClock(from: number): Disposable {
  const wait = globalThis.setTimeout
  const quick = (work: () => void, ms: number, ...more: []) => wait(work, ms >= from ? ms / 600 : ms, ...more)
  globalThis.setTimeout = quick as typeof setTimeout
  return { [Symbol.dispose]: () => void (globalThis.setTimeout = wait) }
}

test('a body that never ends is dropped one minute after its response, or after ten while being read', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const remaining: string[] = []
  const begin = async (head: string, isAnswered: boolean): Promise<{ ended: Promise<unknown> }> => {
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
    const ended = new Promise((resolve) => socket.on('error', () => {}).on('close', resolve))
    const answer = isAnswered ? once(socket, 'data') : null
    socket.write(`${head} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n`)
    socket.write(isAnswered ? '\r\n{' : `authorization: Bearer ${key}\r\n\r\n{`)
    await answer
    // One byte resets the idle timeout.
    socket.write(' ')
    return { ended: ended.then(() => remaining.push(isAnswered ? 'answered' : 'read')) }
  }
  using _hurry = speedUpClock(MINUTE)
  // Routes that read the body start last, because their minutes pass while a slow machine answers the others.
  const heads = ['POST /v1/chats', 'GET /healthz', 'POST /compat-a/v1/chat/completions', 'GET /docs']
  const connections = await Promise.all(heads.map((head) => begin(head, true)))
  for (const head of ['POST /v1/chats', 'POST /compat-a/v1/chat/completions'])
    connections.push(await begin(head, false))
  await Promise.all(connections.map(({ ended }) => ended))
  assert.deepEqual(remaining, ['answered', 'answered', 'answered', 'answered', 'read', 'read'])
})

/** Runs one-second intervals every hundredth of a second if started before disposal. */
function hastenTimeouts(): Disposable {
  const each = globalThis.setInterval
  const quick = (work: () => void, ms: number, ...more: []) => each(work, ms === 1_000 ? 10 : ms, ...more)
  globalThis.setInterval = quick as typeof setInterval
  return { [Symbol.dispose]: () => void (globalThis.setInterval = each) }
}

test('an idle stream sends a heartbeat every 15 seconds', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const chat = (await alice.post('/chats', { model: 'sim/script' })).body.data.id
  const content = JSON.stringify({ steps: [{ text: 'one' }, { delay_ms: 60_000 }] })
  const beats = async (method: string, path: string, body?: object): Promise<number[]> => {
    const response = await fetch(new URL(`/v1${path}`, server.origin), {
      method,
      headers: { ...alice.headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const times: number[] = []
    let text = ''
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
      text += part
      const count = text.split('\n\n').filter((frame) => frame === ':').length
      while (times.length < count) times.push(performance.now())
      if (times.length >= 3) break
    }
    return times
  }
  using _haste = hastenTimeouts()
  const all = await Promise.all([
    beats('GET', `/realtime/subscribe?channels=custom:${alice.workspaceId}:silence`),
    beats('POST', `/chats/${chat}/messages/stream`, { content }),
  ])
  for (const [first, , third] of all)
    assert.ok(third! - first! >= 200, `${third! - first!} ms for two rounds of 15 beats`)
  await alice.post(`/chats/${chat}/stop`)
})

function answersOf(path: string) {
  const responses: ServerResponse[] = []
  const hear = (message: unknown): void => {
    const { request, response } = message as { request: { url: string }; response: ServerResponse }
    if (request.url.startsWith(path)) responses.push(response)
  }
  subscribe('http.server.request.start', hear)
  return { found: responses, [Symbol.dispose]: () => void unsubscribe('http.server.request.start', hear) }
}

test('a follower that stops reading and loses access is disconnected soon, with its backlog', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  const key = await alice.key()
  const channel = `custom:${alice.workspaceId}:flood`
  using answers = answersOf('/v1/realtime/subscribe')
  const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
  socket.write(
    `GET /v1/realtime/subscribe?channels=${channel} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key.key}\r\n\r\n`,
  )
  await once(socket, 'data')
  socket.pause()
  const [response] = answers.found
  const data = 'x'.repeat(60_000)
  // The kernel's buffer is full once data waits here.
  while (response!.writableLength < 120_000)
    assert.equal((await alice.post(`/realtime/${channel}/broadcast`, { event: 'x', data })).status, 200)
  assert.equal(response!.destroyed, false)
  const closed = once(response!, 'close')
  using _hurry = speedUpClock(10_000)
  await alice.delete(`/api-keys/${key.keyId}`)
  await closed
  socket.destroy()
})
