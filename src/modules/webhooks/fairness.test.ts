import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type Person, testServer } from '#test/server.ts'
import { becomes } from '#test/until.ts'

const SHARE = 16

async function listen(answer: RequestListener) {
  const http = createServer(answer).listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.closeAllConnections()
        http.close(() => resolve())
      }),
  }
}

test('unresponsive receivers of one account, in any number of workspaces, use a limited share of the slots', async () => {
  await using server = await testServer({ environment: { UK_FETCH_ALLOW: '127.0.0.0/8' } })
  let pending = 0
  let most = 0
  await using silent = await listen((request) => {
    request.resume()
    most = Math.max(most, ++pending)
    request.socket.once('close', () => pending--)
  })
  const received = Promise.withResolvers<void>()
  await using quick = await listen((request, response) => {
    request.resume().on('end', () => {
      response.end()
      received.resolve()
    })
  })
  const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
  const endpoint = async (by: Person, workspace_id: string, url: string): Promise<string> =>
    (await by.post('/webhook-endpoints', { workspace_id, name: 'Ours', url, events: ['chat.*'] })).body.data.id
  const places = [bob.workspaceId]
  for (const name of ['One', 'Two']) places.push((await bob.post('/workspaces', { name })).body.data.id)
  const slow: string[] = []
  for (const place of places) for (let n = 0; n < 6; n++) slow.push(await endpoint(bob, place, silent.url))
  // Four each, more than there are slots.
  for (let n = 0; n < 4; n++)
    for (const id of slow) assert.equal((await bob.post(`/webhook-endpoints/${id}/test`)).status, 200)
  await becomes(() => pending, SHARE)
  const ownEndpoint = await endpoint(alice, alice.workspaceId, quick.url)
  assert.equal((await alice.post(`/webhook-endpoints/${ownEndpoint}/test`)).status, 200)
  await received.promise
  assert.equal(most, SHARE)
})
