// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

test('readers at one address can’t keep others waiting, even if they hold every place', async () => {
  await using server = await testServer()
  const [hash] = (
    await (await fetch(`${server.origin}/install/${process.platform}-${process.arch}/node`)).text()
  ).split('  ')
  const open: ClientRequest[] = []
  using _open = { [Symbol.dispose]: () => open.forEach((one) => one.destroy()) }
  /** The response's head. Its body isn't read. */
  const ask = (localAddress: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const out = request(`${server.origin}/install/files/${hash}`, { localAddress, agent: false }, resolve)
      out.on('error', reject).end()
      open.push(out)
    })
  const slow = await Promise.all(Array.from({ length: 64 }, () => ask('127.0.0.2')))
  for (const response of slow) response.on('error', () => {})
  assert.deepEqual(new Set(slow.map(({ statusCode }) => statusCode)), new Set([200]))
  assert.equal((await ask('127.0.0.2')).statusCode, 503, 'its own share is full')
  const whole = await ask('127.0.0.3')
  assert.equal(whole.statusCode, 200)
  let length = 0
  for await (const part of whole) length += (part as Buffer).length
  assert.equal(length, Number(whole.headers['content-length']))
  assert.equal((await fetch(`${server.origin}/v1/openapi.json`)).status, 200)
})
