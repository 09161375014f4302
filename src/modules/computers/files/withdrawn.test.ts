import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { type ClientRequest, request as requestHttp } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type People, peopleAround } from '#test/computers/world.ts'
import { type Proxy, proxyTo } from '#test/link/proxy.ts'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { pairedComputer } from '#test/makers.ts'
import { temporaryDir } from '#test/program.ts'
import { type Answer, type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { PATIENCE_MS, becomes, until } from '#test/until.ts'

const SIZE = 50_000_000
/** The bytes that arrive before permission is withdrawn. */
const BEGUN = 2_000_000
const NOWHERE = 'http://127.0.0.1:9'
const stack = new AsyncDisposableStack()
let server: TestServer
let alice: Person
let people: People
let id: string
let root: string
let way: Proxy

before(async () => {
  server = stack.use(await testServer())
  alice = await server.person('Alice')
  people = await peopleAround(server, alice)
  root = join(stack.use(temporaryDir()).path, 'root')
  mkdirSync(root)
  const home = stack.use(daemonHome())
  way = stack.use(await proxyTo(server.origin))
  const pairing = await pairedComputer(alice)
  id = pairing.id
  stack.use(await runDaemonAt(home, way.origin, pairing))
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
})
after(() => stack.disposeAsync())

const partsIn = (): string[] => readdirSync(root).filter((name) => name.startsWith('.uk-upload-'))

/** Starts an upload that stays open. Resolves once its bytes are on the computer. */
async function startUpload(
  who: Caller,
  name: string,
  origin = server.origin,
): Promise<{ request: ClientRequest; statusCode: Promise<number | null> }> {
  const url = `${origin}/v1/computers/${id}/fs/upload?path=${encodeURIComponent(join(root, name))}`
  const headers = { ...who.headers, 'content-type': 'application/octet-stream', 'content-length': SIZE }
  const request = requestHttp(url, { method: 'POST', headers })
  const statusCode = new Promise<number | null>((resolve) => {
    request.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
    request.on('error', () => resolve(null))
  })
  request.write(Buffer.alloc(BEGUN))
  await until(
    async () => partsIn().map((part) => statSync(join(root, part)).size),
    (sizes) => sizes.length === 1 && sizes[0] === BEGUN,
  )
  return { request, statusCode }
}

/** Failed jobs waiting for their next attempt. */
async function waitingJobs(): Promise<number> {
  const { rows } = await server.app.engine.postgres.pool.query(
    `select from graphile_worker._private_jobs
    where key like 'computers.drop_upload:%' and locked_at is null and (payload->>'tries')::int > 0`,
  )
  return rows.length
}

const expose = () =>
  alice.post(`/computers/${id}/exposures`, { workspace_id: people.team, capabilities: ['fs_read', 'fs_write'] })

test('a sender who gets permission back resumes the upload, which isn’t removed', async () => {
  await expose()
  const { bob } = people
  const { request, statusCode } = await startUpload(bob, 'back')
  way.to(NOWHERE)
  way.cut()
  await alice.delete(`/computers/${id}/exposures/${people.team}`)
  request.write(Buffer.alloc(1_000))
  assert.notEqual(await statusCode, 201)
  request.destroy()
  // The first attempt found the computer offline.
  await becomes(waitingJobs, 1)
  await expose()
  const send = () =>
    bob.request(
      'POST',
      `/computers/${id}/fs/upload?path=${encodeURIComponent(join(root, 'back'))}`,
      Buffer.alloc(1_000),
      {
        'content-type': 'application/octet-stream',
        'content-range': `bytes ${BEGUN}-${BEGUN + 999}/${BEGUN + 1_000}`,
      },
    )
  const first = send()
  await becomes(waitingJobs, 0)
  way.to(server.origin)
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
  // On a slow machine, the first request may give up before the computer is back.
  const { status, text } = (await first).body.error?.code === 'computer_offline' ? await send() : await first
  assert.equal(status, 201, text)
  assert.deepEqual(partsIn(), [])
  await alice.delete(`/computers/${id}/exposures/${people.team}`)
})

/** Ways to lose write permission: the uploader, and what withdraws it. */
const ways: Record<string, () => Promise<{ who: Caller; withdraw: () => Promise<Answer> }>> = {
  'its key is revoked': async () => {
    const key = await alice.key()
    return { who: key, withdraw: () => alice.delete(`/api-keys/${key.keyId}`) }
  },
  'its exposure is removed': async () => {
    await expose()
    return { who: people.bob, withdraw: () => alice.delete(`/computers/${id}/exposures/${people.team}`) }
  },
  'its sender leaves the workspace': async () => {
    await expose()
    return {
      who: people.bob,
      withdraw: () => alice.delete(`/workspaces/${people.team}/members/${people.bob.id}`),
    }
  },
}

for (const [what, make] of Object.entries(ways))
  test(`an upload leaves nothing when ${what}`, async () => {
    const { who, withdraw } = await make()
    const { request, statusCode } = await startUpload(who, what)
    assert.equal((await withdraw()).status, 200)
    // Permission is checked again when more bytes arrive.
    request.write(Buffer.alloc(1_000))
    assert.notEqual(await statusCode, 201)
    await becomes(partsIn, [])
    request.destroy()
  })

test('an upload interrupted while the computer is offline is removed by another process later', async () => {
  const third = await server.twin()
  way.to(third.origin)
  way.cut()
  await until(
    async () => third.app.engine.links.held(),
    (linkedIds) => linkedIds.includes(id),
  )
  const key = await alice.key()
  const { request, statusCode } = await startUpload(key, 'offline', third.origin)
  way.to(NOWHERE)
  way.cut()
  await alice.delete(`/api-keys/${key.keyId}`)
  request.write(Buffer.alloc(1_000))
  assert.notEqual(await statusCode, 201)
  request.destroy()
  await third[Symbol.asyncDispose]()
  assert.equal(partsIn().length, 1)
  way.to(server.origin)
  await becomes(partsIn, [])
})

test('a sender whose session has ended can still resume the upload', async () => {
  const { request, statusCode } = await startUpload(alice, 'signed out')
  assert.ok((await alice.post('/auth/sign-out')).status < 300)
  request.write(Buffer.alloc(1_000))
  assert.equal(await statusCode, 401)
  request.destroy()
  // The job would have been added before the response.
  const { rowCount } = await server.app.engine.postgres.pool.query(
    `select from graphile_worker._private_jobs where key like 'computers.drop_upload:%'`,
  )
  assert.deepEqual([rowCount, partsIn().length], [0, 1])
})
