import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { sweepBlobs } from '#infra/blobs/sweep.ts'
import { type TestDatabase, testDatabase } from '../database.ts'
import { form, upload } from './drive.ts'
import { caller, testServer } from '../server.ts'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Sends new content of one file and kills the server, or cuts the connection, at a random byte; looks what is there. */
export async function killUploads({ rounds, size }: { rounds: number; size: number }): Promise<void> {
  await using database = await testDatabase()
  let content = randomBytes(size)
  const start = async () => {
    await using server = await testServer({ database })
    const alice = await server.person('Alice')
    const { key } = await alice.key({ scopes: ['drive:write'] })
    const made = await upload(alice, { workspace_id: alice.workspaceId }, content, 'a.bin')
    return { key, id: made.body.data.id as string, workspaceId: alice.workspaceId }
  }
  const { key, id, workspaceId } = await start()
  const headers = { authorization: `Bearer ${key}` }
  let replaced = 0
  for (let round = 0; round < rounds; round++) {
    const child = await serve(database)
    const next = randomBytes(size)
    const fields = [['workspace_id', workspaceId] as const, ['on_conflict', 'version'] as const]
    const { body, headers: type } = form([
      ...fields.map(([name, value]) => [name, value] as [string, string]),
      ['file', next, 'a.bin'],
    ])
    // Now and then the whole body goes out and the blow falls while it is made durable.
    const cut = round % 3 === 0 ? body.length : randomInt(body.length)
    const whose = round % 2 === 0 ? 'server' : 'client'
    await sendUpTo(child.origin, { ...headers, ...type }, body, cut, () =>
      whose === 'server' ? void child.process.kill('SIGKILL') : undefined,
    )
    if (whose === 'client') await new Promise((go) => setTimeout(go, 50))
    child.process.kill('SIGKILL')
    if (child.process.exitCode === null && child.process.signalCode === null) await once(child.process, 'exit')
    await using server = await testServer({ database })
    const got = await fetch(`${server.origin}/v1/drive/files/${id}`, { headers })
    const bytes = Buffer.from(await got.arrayBuffer())
    const hash = sha256(bytes)
    assert.ok([sha256(content), sha256(next)].includes(hash), `round ${round}: neither the old nor the new content`)
    assert.equal((await caller(server.origin, headers).get(`/drive/files/${id}/metadata`)).body.data.sha256, hash)
    if (hash === sha256(next)) {
      content = next
      replaced += 1
    }
    await sweepBlobs(server.app.engine, { graceMinutes: 0, strayMinutes: 0 })
    const versions = await caller(server.origin, headers).get(`/drive/files/${id}/content-versions?limit=100`)
    const known = new Set(versions.body.data.map((row: { sha256: string }) => row.sha256))
    assert.deepEqual(
      filesIn(database).filter((name) => !known.has(name)),
      [],
      `round ${round}: stray bytes`,
    )
    assert.deepEqual(filesIn(database).length, known.size)
  }
  assert.ok(rounds < 6 || replaced < rounds, 'some uploads were cut off')
}

async function serve(database: TestDatabase): Promise<{ process: ChildProcess; origin: string }> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'child.ts'), JSON.stringify(database.connection), database.dataDir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { process: child, origin: line.toString().trim() }
}

/** Sends the first `cut` bytes of a body, calls `then`, and ends the connection. */
function sendUpTo(
  origin: string,
  headers: Record<string, string>,
  body: Buffer,
  cut: number,
  then: () => void,
): Promise<void> {
  const { hostname, port } = new URL(origin)
  const lines = Object.entries({ host: hostname, 'content-length': String(body.length), ...headers })
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `POST /v1/drive/files HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`,
      )
      socket.write(body.subarray(0, cut), () => {
        const after = randomInt(12)
        setTimeout(() => {
          then()
          socket.destroy()
        }, after)
      })
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve())
  })
}

const filesIn = ({ dataDir }: TestDatabase): string[] =>
  readdirSync(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)

/**
 * Writers who each change one file so many times, always from what they last saw of it. The content is the number of
 * the change, so that any edit that was lost, or made from something else than the one before it, shows.
 */
export async function writeAtOnce({ writers, attempts }: { writers: number; attempts: number }): Promise<void> {
  await using server = await testServer({
    environment: { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0', UK_LIMIT_IN_FLIGHT: '0' },
  })
  const alice = await server.person('Alice')
  const key = await alice.key({ scopes: ['drive:write'] })
  const made = await key.post('/drive/files', { workspace_id: alice.workspaceId, name: 'n.txt', content: '1' })
  const at = `/drive/files/${made.body.data.id}`
  let won = 0
  await Promise.all(
    Array.from({ length: writers }, async () => {
      let { content_version: version, content_updated_at: seen } = made.body.data
      for (let i = 0; i < attempts; i++) {
        const answer = await key.patch(at, { content: String(version + 1), expected_updated_at: seen })
        if (answer.status === 200) {
          won += 1
          assert.equal(answer.body.data.content_version, version + 1, 'an edit came in between')
          ;({ content_version: version, content_updated_at: seen } = answer.body.data)
        } else {
          const { code, details } = answer.body.error
          assert.deepEqual([answer.status, code], [409, 'stale_update'], answer.text)
          assert.ok(details.content_version > version, 'the loser learns what is there now')
          ;({ content_version: version, content_updated_at: seen } = details)
        }
      }
    }),
  )
  const end = (await key.get(`${at}/metadata`)).body.data
  assert.equal(end.content_version, won + 1)
  assert.equal((await key.get(at)).text, String(won + 1))
  for (let version = Math.max(1, won - 100); version <= won + 1; version++)
    assert.equal((await key.get(`${at}?version=${version}`)).text, String(version))
}
