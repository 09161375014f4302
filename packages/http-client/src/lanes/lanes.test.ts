import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { startRaw, writeAnswer } from '#test/vendors/raw.ts'
import { until } from '#test/until.ts'
import { addressPolicy } from '../address.ts'
import { Lanes } from './lanes.ts'
import { createConnector } from './connector.ts'
import { LIMITS } from '../limits.ts'
import { type Outbound, createOutbound } from '../outbound.ts'
import { retrieve } from '../retrieve.ts'
import type { ExchangeOwner } from '../send.ts'

const policy = addressPolicy(['127.0.0.0/8'])
const get = async (outbound: Pick<Outbound, 'dispatch'>, url: string, whose: ExchangeOwner): Promise<string> =>
  (
    await retrieve(outbound, { url: new URL(url), mostBytes: 1_000, timeoutMs: 5_000, hops: 0, ...whose })
  ).bytes.toString()

test('a connection is reused only with the same credential and party', async () => {
  const requestsBySocket = new Map<Socket, string[]>()
  await using server = await startRaw(({ path }, socket) => {
    requestsBySocket.set(socket, [...(requestsBySocket.get(socket) ?? []), path])
    writeAnswer(socket, { body: '{}' })
  })
  await using outbound = createOutbound(policy)
  for (let round = 0; round < 3; round++)
    for (const credential of ['one', 'two'])
      for (const party of ['alice', 'bob'])
        await get(outbound, `${server.origin}/${credential}-${party}`, { credential, party })
  assert.deepEqual(
    [...requestsBySocket.values()].toSorted(),
    ['/one-alice', '/one-bob', '/two-alice', '/two-bob'].map((path) => [path, path, path]),
  )
})

test('a connection that receives unrequested bytes is closed', async () => {
  const sockets: Socket[] = []
  await using server = await startRaw((_, socket) => {
    if (!sockets.includes(socket)) sockets.push(socket)
    writeAnswer(socket, { body: String(sockets.indexOf(socket)) })
  })
  await using outbound = createOutbound(policy)
  const whose = { credential: '', party: 'alice' }
  assert.equal(await get(outbound, server.origin, whose), '0')
  writeAnswer(sockets[0]!, { body: 'unasked' })
  await until(
    () => Promise.resolve(sockets[0]!.destroyed),
    (isClosed) => isClosed,
  )
  assert.equal(await get(outbound, server.origin, whose), '1')
})

test('lanes and idle connections are bounded, and the least recently used are closed', async () => {
  let open = 0
  await using server = await startRaw((_, socket) => writeAnswer(socket, { body: '{}' }))
  const lanes = new Lanes(
    ({ protocol, hostname, port }) => {
      const connect = createConnector({ protocol, hostname, port: Number(port) }, { timeoutMs: 5_000 })
      return (done) =>
        connect((error, wire) => {
          open++
          wire?.socket.on('close', () => open--)
          done(error, wire)
        })
    },
    { lanes: 20, idle: 10 },
  )
  const outbound: Pick<Outbound, 'dispatch'> = {
    dispatch: (send, handler) =>
      lanes.of(send).dispatch({
        method: 'GET',
        head: 'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
        body: null,
        handler,
        limits: LIMITS,
        party: 'anybody',
        withinMs: 5_000,
        streamed: null,
        elapsedMs: 0,
      }),
  }
  for (let i = 0; i < 50; i++) {
    await get(outbound, server.origin, { credential: '', party: `${i}` })
    lanes.turn(1)
    assert.ok(lanes.size <= 20, `${lanes.size} lanes`)
  }
  await until(
    () => Promise.resolve(open),
    (count) => count <= 10,
  )
  // The last one is still open.
  await get(outbound, server.origin, { credential: '', party: '49' })
  assert.equal(server.connections, 50)
  lanes.destroy()
})
