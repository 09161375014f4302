import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Person, TestServer } from '#test/server.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import { type House, at, bring, hello, slugs, openHouse } from '#test/endpoints/house.ts'
import { PATIENCE_MS } from '#test/until.ts'

let house: House
let server: TestServer
let bob: Person

before(async () => {
  house = await openHouse()
  ;({ server, bob } = house)
})
after(() => house[Symbol.asyncDispose]())

test('a disabled endpoint is refused at once in every process, and its streams end', async () => {
  await using twin = await server.twin()
  await using vendor = await startOpenAI({ otherwise: { reply: 'word '.repeat(2_000), perChunkDelayMs: 20 } })
  const { id } = await bring(bob, vendor, 'going')
  const key = await bob.key()
  const there = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${twin.origin}/v1${path}`, {
      method: 'POST',
      headers: { ...key.headers, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const streaming = await there('/inference/text/stream', hello('going/gpt-4o'))
  assert.equal(streaming.status, 200)
  const whole = streaming.text()
  const surface = await fetch(`${twin.origin}/compat-a/v1/chat/completions`, {
    method: 'POST',
    headers: { ...key.headers, 'content-type': 'application/json' },
    body: JSON.stringify(hello('going/gpt-4o', { stream: true })),
  })
  const streamError = surface.text().then(
    () => 'ended',
    () => 'broken off',
  )
  await bob.patch(`${at}/${id}`, { enabled: false })
  assert.equal((await bob.post('/inference/text', hello('going/gpt-4o'))).status, 404)
  const text = await whole
  assert.equal(await streamError, 'broken off')
  assert.match(text, /event: run\.failed\ndata: .*"no_route"/)
  assert.equal((await there('/inference/text', hello('going/gpt-4o'))).status, 404)
  await bob.patch(`${at}/${id}`, { enabled: true })
  assert.ok((await slugs(bob)).includes('going/gpt-4o'))
})

test('disabling an endpoint before its first token, or deleting its workspace, ends the stream', async () => {
  await using slow = await startOpenAI({
    otherwise: { reply: 'word '.repeat(2_000), perChunkDelayMs: 20, delayMs: 1_500 },
  })
  const { id } = await bring(bob, slow, 'slow')
  const stream = (model: string) =>
    fetch(`${server.origin}/v1/inference/text/stream`, {
      method: 'POST',
      headers: { ...bob.headers, 'content-type': 'application/json' },
      body: JSON.stringify(hello(model)),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
  const before = stream('slow/gpt-4o')
  while (!slow.requests.some(({ path }) => path === '/v1/chat/completions')) await slow.arrival(slow.requests.length)
  await bob.patch(`${at}/${id}`, { enabled: false })
  assert.match(await (await before).text(), /"no_route"/)

  await using vendor = await startOpenAI({ otherwise: { reply: 'word '.repeat(2_000), perChunkDelayMs: 20 } })
  const team = (await bob.post('/workspaces', { name: 'Going' })).body.data
  await bring(bob, vendor, 'theirs', { workspace_id: team.id })
  const streaming = await stream('theirs/gpt-4o')
  assert.equal(streaming.status, 200)
  await bob.delete(`/workspaces/${team.id}?confirm=Going`)
  assert.match(await streaming.text(), /"no_route"/)
})
