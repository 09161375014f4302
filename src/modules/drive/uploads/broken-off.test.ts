import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { sweepBlobs } from '#infra/blobs/sweep.ts'
import { type Caller, type TestServer, testServer } from '#test/server.ts'
import { becomes } from '#test/until.ts'
import { expireUploads } from './receive.ts'

const tus = { 'tus-resumable': '1.0.0' }
const base64 = (words: string): string => Buffer.from(words).toString('base64')
const blobsIn = (server: TestServer): string[] =>
  readdirSync(join(server.database.dataDir, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)

const begin = async (who: Caller, workspaceId: string, length: number | null, name = 'big.bin'): Promise<string> => {
  const response = await who.post('/drive/uploads', undefined, {
    ...tus,
    ...(length === null ? { 'upload-defer-length': '1' } : { 'upload-length': String(length) }),
    'upload-metadata': `workspace_id ${base64(workspaceId)},filename ${base64(name)}`,
  })
  assert.equal(response.status, 201, response.text)
  return new URL(response.headers.get('location')!).pathname
}

const send = (who: Caller, at: string, offset: number, bytes: Uint8Array, more: Record<string, string> = {}) =>
  who.request('PATCH', at, bytes, {
    ...tus,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
    ...more,
  })

test('an upload interrupted anywhere keeps its bytes, and the resumed file is correct', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const key = await alice.key()
  const bytes = randomBytes(300_000)
  const at = await begin(alice, alice.workspaceId, bytes.length)
  const state = async () => (await key.get(at)).body.data
  let offset = 0
  for (let round = 0; offset < bytes.length; round++) {
    const rest = bytes.subarray(offset)
    const length = round < 4 ? Math.floor(Math.random() * 100_000) : rest.length
    await brokenOff(server.origin, at, key.headers, offset, rest, Math.min(length, rest.length))
    for (let last = offset, tries = 0; tries < 50 && offset - last < length; tries++) {
      offset = (await state()).offset_bytes
      await new Promise((go) => setTimeout(go, 10))
    }
  }
  const { file_id } = await state()
  const about = (await key.get(`/drive/files/${file_id}/metadata`)).body.data
  assert.equal(about.sha256, createHash('sha256').update(bytes).digest('hex'))
})

/** Announces all of the bytes, sends so many of them, and cuts the connection unless that was all. */
function brokenOff(
  origin: string,
  path: string,
  headers: Record<string, string>,
  offset: number,
  bytes: Buffer,
  sent: number,
): Promise<void> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      const lines = Object.entries({
        ...headers,
        ...tus,
        host: `${hostname}:${port}`,
        'content-type': 'application/offset+octet-stream',
        'content-length': String(bytes.length),
        'upload-offset': String(offset),
      }).map(([name, value]) => `${name}: ${value}`)
      socket.write(`PATCH ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      socket.write(bytes.subarray(0, sent), () => {
        if (sent < bytes.length) setTimeout(() => socket.destroy(), 20)
      })
    })
    socket.on('data', () => socket.destroy())
    socket.on('close', () => resolve())
    socket.on('error', () => {})
  })
}

test('an interrupted upload stores nothing, and deleted content is removed at the next sweep', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const key = await alice.key()
  const { hostname, port } = new URL(server.origin)
  const boundary = 'cut'
  const form =
    `--${boundary}\r\nContent-Disposition: form-data; name="workspace_id"\r\n\r\n${alice.workspaceId}\r\n` +
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="cut.bin"\r\n\r\n`
  for (const sent of [0, 1, 1_000, 200_000]) {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        const lines = Object.entries({ ...key.headers, host: hostname, 'content-length': '1000000' })
        socket.write(
          `POST /v1/drive/files HTTP/1.1\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\n` +
            `${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n${form}`,
        )
        socket.write(Buffer.alloc(sent, 1), () => setTimeout(() => socket.destroy(), 30))
      })
      socket.on('close', () => resolve())
      socket.on('error', () => {})
    })
  }
  // A form that ends without its last boundary is not a whole one either.
  const unended = await key.request('POST', '/drive/files', Buffer.from(`${form}half a file`), {
    'content-type': `multipart/form-data; boundary=${boundary}`,
  })
  assert.equal(unended.status, 400, unended.text)
  await becomes(() => blobsIn(server), [])
  assert.deepEqual((await key.get('/drive/files')).body.data, [])

  const put = async (name: string) =>
    (await key.post('/drive/files', { workspace_id: alice.workspaceId, name, content: 'the same' })).body.data.id
  const [one, two] = [await put('one'), await put('two')]
  assert.equal(blobsIn(server).length, 1, 'the same bytes lie there once')
  const sweep = () => sweepBlobs(server.app.engine, { graceMinutes: 0, strayMinutes: 0 })
  for (const id of [one, two]) {
    await key.delete(`/drive/files/${id}`)
    assert.deepEqual(await sweep(), { unreferenced: 0, stray: 0 })
    await key.delete(`/drive/files/${id}/permanent-delete`)
  }
  assert.deepEqual(await sweep(), { unreferenced: 1, stray: 0 })
  assert.deepEqual(blobsIn(server), [])
})

test('bytes resembling the form’s boundary are preserved however they are split', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const key = await alice.key()
  const { hostname, port } = new URL(server.origin)
  const boundary = '----of-this-test'
  // None of them completes the boundary, whatever follows.
  const most = boundary.slice(0, -6)
  const pieces = ['\r', '\n', '\r\n', '\r\n--', `\r\n--${most}`, '-', `--${most}`, '\r\n\r\n--']
  for (let round = 0; round < 4; round++) {
    const parts = Array.from({ length: 200 }, () =>
      randomInt(3) === 0 ? randomBytes(randomInt(60_000)) : Buffer.from(pieces[randomInt(pieces.length)]!),
    )
    const content = Buffer.concat(parts)
    const body = Buffer.concat([
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="workspace_id"\r\n\r\n${alice.workspaceId}\r\n` +
          `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${round}"\r\n\r\n`,
      ),
      content,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ])
    const answer = await new Promise<string>((resolve, reject) => {
      let text = ''
      const send = async () => {
        const lines = Object.entries({ ...key.headers, host: hostname, 'content-length': String(body.length) })
        socket.write(
          `POST /v1/drive/files HTTP/1.1\r\nconnection: close\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\n` +
            `${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`,
        )
        for (let at = 0; at < body.length;) {
          const end = at + 1 + randomInt(round % 2 === 0 ? 5_000 : 200_000)
          await new Promise<void>((sent) => socket.write(body.subarray(at, end), () => sent()))
          at = end
        }
      }
      const socket = connect(Number(port), hostname, () => void send().catch(reject))
      socket
        .on('data', (part: Buffer) => (text += part))
        .on('end', () => resolve(text))
        .on('error', reject)
    })
    const { data } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
    assert.deepEqual(
      [data.size_bytes, data.sha256],
      [content.length, createHash('sha256').update(content).digest('hex')],
      `round ${round}`,
    )
  }
})

test('an abandoned upload expires after a day and its bytes are deleted', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const at = await begin(alice, alice.workspaceId, 10)
  await send(alice, at, 0, Buffer.from('01234'))
  assert.equal(blobsIn(server).length, 1)
  const { engine } = server.app
  assert.deepEqual(await sweepBlobs(engine, { graceMinutes: 0, strayMinutes: 0 }), { unreferenced: 0, stray: 0 })
  await engine.postgres.pool.query("update uploads set expires_at = now() - interval '1 second'")
  const late = await send(alice, at, 5, Buffer.from('56789'))
  assert.deepEqual([late.status, late.body.error.code], [410, 'content_expired'])
  await expireUploads(engine)
  assert.equal((await alice.get(at)).status, 404)
  assert.deepEqual(blobsIn(server), [])
})
