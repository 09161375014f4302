// Thorough: run by the merge check, or by name. Models install despite failures of the server, the daemon and the
// download source. Needs no engine.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { testDatabase } from '#test/database.ts'
import { pairedBy } from '#test/link/daemon.ts'
import { type Proxy, proxyTo } from '#test/link/proxy.ts'
import { type Home, type RunningDaemon, daemonHome, continueDaemon, runDaemonAt } from '#test/link/run-daemon.ts'
import { type Shelf, shelf } from '#test/local-inference/shelf.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { tinyGguf } from '#test/local-inference/tiny-gguf.ts'
import { until } from '#test/until.ts'

const model = tinyGguf()
const other = tinyGguf(2)
const etag = '"one"'
const stack = new AsyncDisposableStack()
const database = stack.use(await testDatabase())

let server: TestServer
let alice: Person
let way: Proxy
let home: Home
let daemon: RunningDaemon
let id: string
let files: Shelf
let slow: Shelf
let engines: { local: string[] }

before(async () => {
  server = await testServer({ database })
  alice = await server.person('Alice')
  way = stack.use(await proxyTo(server.origin))
  files = stack.use(await shelf({ '/tiny.gguf': model.bytes }))
  slow = stack.use(await shelf({ '/slow.gguf': model.bytes }, { bytesPerSecond: 100_000 }))
  home = stack.use(daemonHome())
  engines = { local: [files.host, slow.host] }
  const pairing = await pairedBy(alice)
  id = pairing.id
  daemon = await runDaemonAt(home, way.origin, pairing, { engines })
  await linked()
})
after(async () => {
  await daemon[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await stack.disposeAsync()
})

const linked = () =>
  until(
    () => alice.get(`/computers/${id}`),
    ({ body }) => body.data?.connection === 'online',
  )
const local = (path = '') => `/computers/${id}/local-inference${path}`
const waitForEnd = async (operation: { id: string }) =>
  (
    await until(
      () => alice.get(`/operations/${operation.id}/await?timeout_seconds=5`),
      ({ body }) => body.data && !['queued', 'running'].includes(body.data.status),
    )
  ).body.data
const installing = async (body: object) => {
  const answer = await alice.post(local('/models'), body)
  assert.equal(answer.status, 202, answer.text)
  return answer.body.data as { id: string }
}
const showOperation = async (operation: { id: string }) =>
  (await alice.get(local('/operations'))).body?.data?.find((one: { id: string }) => one.id === operation.id)
const hasCome = (operation: { id: string }, bytes: number) =>
  until(
    () => showOperation(operation),
    (one) => one?.bytes_done > bytes,
  )
const folder = () => join(home.folder, 'local/models')
const lying = () => readdirSync(folder()).toSorted()
/** Asserts that one complete model file exists and no leftovers. */
function whole(name: string, { bytes }: { bytes: Buffer }): void {
  assert.deepEqual(
    lying().filter((file) => file.startsWith(`${name}.`)),
    [`${name}.gguf`, `${name}.json`],
  )
  assert.ok(readFileSync(join(folder(), `${name}.gguf`)).equals(bytes), 'byte for byte')
}

test('an installation survives restarts of server and daemon and yields one file', async () => {
  slow.ranges.length = 0
  const operation = await installing({ source: { url: `${slow.origin}/slow.gguf`, sha256: model.sha256 } })
  const first = await hasCome(operation, 60_000)
  const { port } = new URL(server.origin)
  await server[Symbol.asyncDispose]()
  server = await testServer({ database, environment: { UK_PORT: port } })
  await linked()
  await until(
    () => showOperation(operation),
    (one) => one?.status === 'running' && one.bytes_done > first.bytes_done + 60_000,
  )
  await daemon[Symbol.asyncDispose]()
  daemon = continueDaemon(home, { engines })
  const result = await waitForEnd(operation)
  assert.equal(result.status, 'succeeded', JSON.stringify(result.error))
  assert.equal(result.result.digest, `sha256:${model.sha256}`)
  const last = await showOperation(operation)
  assert.deepEqual([last.bytes_done, last.bytes_total], [model.bytes.length, model.bytes.length])
  whole('slow', model)
  // Downloaded bytes aren't fetched again.
  assert.equal(slow.ranges[0], null)
  assert.ok(
    slow.ranges.slice(1).every((range) => /^bytes=[1-9]\d{4,}-$/.test(range ?? '')),
    slow.ranges.join(),
  )
})

test('installing from the drive resumes at the same byte after a server restart', async () => {
  const form = new FormData()
  form.set('workspace_id', alice.workspaceId)
  // Padding after the model, which llama.cpp ignores.
  const bytes = Buffer.concat([other.bytes, Buffer.alloc(48 * 1024 * 1024)])
  form.set('file', new Blob([new Uint8Array(bytes)]), 'large.gguf')
  const answer = await fetch(`${server.origin}/v1/drive/files`, { method: 'POST', headers: alice.headers, body: form })
  const text = await answer.text()
  assert.equal(answer.status, 201, text)
  // A slow connection, with a restart halfway.
  way.delay(50)
  const operation = await installing({ source: { file_id: JSON.parse(text).data.id } })
  const first = await hasCome(operation, 1)
  assert.ok(first.bytes_done < bytes.length / 2)
  const { port } = new URL(server.origin)
  await server[Symbol.asyncDispose]()
  server = await testServer({ database, environment: { UK_PORT: port } })
  await linked()
  const second = await showOperation(operation)
  assert.ok(['queued', 'running'].includes(second.status) && second.bytes_done < bytes.length, JSON.stringify(second))
  way.delay(0)
  const result = await waitForEnd(operation)
  assert.equal(result.status, 'succeeded', JSON.stringify(result.error))
  assert.equal(result.result.digest, `sha256:${createHash('sha256').update(bytes).digest('hex')}`)
  whole('large', { bytes })
})

/** Starts a valid response and drops it once its bytes are stored on the machine. */
const cutAfter =
  (bytes: number, tag = etag) =>
  (_: unknown, response: ServerResponse): void => {
    response.writeHead(200, { etag: tag, 'content-length': model.bytes.length })
    response.write(model.bytes.subarray(0, bytes))
    const part = () => lying().find((file) => file.endsWith('.part'))
    void until(
      async () => (part() === undefined ? 0 : statSync(join(folder(), part()!)).size),
      (size) => size >= bytes,
    ).finally(() => response.destroy())
  }
const answers =
  (status: number, headers: Record<string, string | number> = {}, bytes: Buffer = Buffer.alloc(0)) =>
  (_: unknown, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(bytes)

test('downloads survive cut connections, changed files and servers without range support', async () => {
  const cases: [string, Shelf['next']][] = [
    ['cut-twice', [cutAfter(50_000), cutAfter(70_000)]],
    ['cut-then-416', [cutAfter(50_000), answers(416, { 'content-range': 'bytes */10' })]],
    ['cut-then-other', [cutAfter(50_000, '"old"')]],
    ['cut-then-200', [cutAfter(50_000), answers(200, { etag: '"new"' }, model.bytes)]],
    [
      'cut-then-elsewhere',
      [
        cutAfter(50_000),
        answers(
          206,
          { etag, 'content-range': `bytes 10-${model.bytes.length - 1}/${model.bytes.length}` },
          model.bytes.subarray(10),
        ),
      ],
    ],
  ]
  for (const [name, next] of cases) {
    files.next.push(...next)
    const source = { url: `${files.origin}/tiny.gguf`, sha256: model.sha256 }
    const result = await waitForEnd(await installing({ source, name }))
    assert.equal(result.status, 'succeeded', `${name}: ${JSON.stringify(result.error)}`)
    assert.equal(files.next.length, 0, name)
    whole(name, model)
  }
})

test('downloads with a wrong length or content leave no model', async () => {
  const fails = async (name: string, ...next: Shelf['next']) => {
    files.next.push(...next)
    const { status, error } = await waitForEnd(await installing({ source: { url: `${files.origin}/tiny.gguf` }, name }))
    assert.equal(status, 'failed', name)
    assert.equal(lying().includes(`${name}.gguf`), false)
    files.next.length = 0
    return error
  }
  // Refused before the first byte, with numbers.
  const full = await fails('huge', answers(200, { 'content-length': 10 ** 15 }))
  assert.equal(full.type, 'storage_full')
  assert.equal(full.details.needed_bytes, 10 ** 15)
  assert.ok(full.details.free_bytes > 0 && full.details.free_bytes < 10 ** 15)
  const short = await fails('short', answers(200, { 'content-length': 1_000 }, model.bytes.subarray(0, 1_000)))
  assert.equal(short.code, 'invalid_parameter')
  const half = await fails('half', answers(200, {}, model.bytes.subarray(0, model.bytes.length >> 1)))
  assert.match(half.message, /bytes/)
  const page = await fails('page', answers(200, { 'content-type': 'text/html' }, Buffer.from('<html>sign in</html>')))
  assert.equal(page.code, 'invalid_parameter')
  for (const code of [401, 403, 404, 500, 204])
    assert.match((await fails(`s${code}`, answers(code))).message, new RegExp(`returned status ${code}`))
})

test('concurrent installations of one name: only one succeeds', async () => {
  const source = { url: `${files.origin}/tiny.gguf` }
  const both = await Promise.all([1, 2].map(() => alice.post(local('/models'), { source, name: 'once' })))
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [202, 409])
  assert.equal((await waitForEnd(both.find(({ status }) => status === 202)!.body.data)).status, 'succeeded')
  whole('once', model)
})
