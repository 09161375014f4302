import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, test } from 'node:test'
import { type Caller, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let key: Caller & { key: string }
before(async () => {
  server = await testServer()
  key = await (await server.person('Alice')).key()
})
after(() => server[Symbol.asyncDispose]())

/** Unlike fetch, this can omit the header. */
const ping = (accept?: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key.key}`,
      'content-type': 'application/json',
      ...(accept !== undefined && { accept }),
    }
    httpRequest(`${server.origin}/mcp`, { method: 'POST', headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!))
    })
      .on('error', reject)
      .end('{"jsonrpc":"2.0","id":1,"method":"ping"}')
  })

test('clients that accept everything are served at /mcp, and those that exclude a type are rejected', async () => {
  for (const [accept, status] of [
    [undefined, 200],
    ['*/*', 200],
    ['application/*, text/*', 200],
    ['application/json, text/event-stream', 200],
    ['application/json;q=0.9, text/event-stream;q=0.1, */*;q=0', 200],
    ['Application/JSON,TEXT/Event-Stream', 200],
    ['application/json', 406],
    ['*/*, text/event-stream;q=0', 406],
    ['text/html', 406],
    ['application/json-seq, text/event-streams', 406],
  ] as const)
    assert.equal(await ping(accept), status, String(accept))
})
