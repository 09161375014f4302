/**
 * Every response on a kept connection has exactly its declared length, checked by a reader that knows only RFC 9112.
 * `model-bytes.test.ts` covers model calls.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Person, type TestServer, testServer } from '../../server.ts'
import { surfaceCases } from '../../wire/gateway-cases.ts'
import { pageCases } from '../../wire/page-cases.ts'
import { registryCases } from '../../wire/registry-cases.ts'
import { restCases } from '../../wire/rest-cases.ts'
import { byNode, walks } from '../../wire/walks.ts'

let server: TestServer
let person: Person
let key: Record<string, string>

before(async () => {
  const limits = { UK_LIMIT_READS: '0', UK_LIMIT_WRITES: '0', UK_LIMIT_INFERENCE: '0', UK_LIMIT_SEARCHES: '1' }
  server = await testServer({ environment: limits })
  person = await server.person('Ada')
  key = (await person.key()).headers
})
after(() => server[Symbol.asyncDispose]())

test('every endpoint of the registry, for each caller and method', async (t) => {
  const bob = await server.person('Bob')
  await walks(t, server.origin, await registryCases(key, bob.headers), byNode)
})

test('REST responses of each status: created, background, unchanged, partial, too large, expected, streamed', async (t) => {
  const [seen] = await walks(t, server.origin, await restCases(person, key), byNode)
  for (const status of [200, 201, 202, 204, 206, 304, 400, 401, 404, 412, 413, 415, 416, 429])
    assert.ok(seen!.statuses.has(status), `nothing was answered ${status}`)
})

test('pages, probes, signed bytes and the agent tool', async (t) => {
  const body = { workspace_id: person.workspaceId, name: 'signed.txt', content: 'hello hello' }
  const { id } = (await person.post('/drive/files', body)).body.data
  const { url } = (await person.post(`/drive/files/${id}/signed-url`, {})).body.data
  await walks(t, server.origin, pageCases(key, [url.slice(new URL(url).origin.length)]), byNode)
})

test('every path of every surface, for each caller and method', async (t) => {
  await walks(t, server.origin, surfaceCases(key), byNode)
})
