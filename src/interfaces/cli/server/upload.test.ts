import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { upload as uploadWhole } from '#test/drive/drive.ts'
import { testServer } from '#test/server.ts'

const program = fileURLToPath(new URL('../../../../bin/uk', import.meta.url))
const MIB = 1 << 20

/** A proxy with the default body limit of nginx, 1 MiB, that cuts some requests (`cuts`). */
async function proxyTo(origin: string, cuts: (request: IncomingMessage) => boolean) {
  const refused: number[] = []
  const server = createServer((asked, answer) => {
    const length = Number(asked.headers['content-length'] ?? 0)
    if (length > MIB) {
      refused.push(length)
      asked.resume()
      return void answer.writeHead(413, { 'content-type': 'text/html' }).end('<h1>413 Request Entity Too Large</h1>')
    }
    if (cuts(asked)) return void asked.socket.destroy()
    const onwards = request(new URL(asked.url!, origin), { method: asked.method, headers: asked.headers }, (came) => {
      answer.writeHead(came.statusCode!, came.headers)
      came.pipe(answer)
    })
    onwards.on('error', () => answer.destroy())
    asked.pipe(onwards)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

test('an upload passes a proxy with a small limit, resumes after a disconnect, and resumes in another process after a kill', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const home = await mkdtemp(join(tmpdir(), 'uk-upload-'))
  let parts = 0
  let killed: (() => void) | null = null
  await using proxy = await proxyTo(server.origin, ({ method }) => {
    if (method !== 'PATCH') return false
    parts++
    if (parts === 6) killed?.()
    return parts === 3
  })
  try {
    const bytes = randomBytes(9 * MIB + 17)
    await writeFile(join(home, 'big.bin'), bytes)
    const run = (...words: string[]) => {
      const child = spawn(program, words, {
        env: { PATH: process.env.PATH!, HOME: home, UK_KEY: key, UK_ORIGIN: proxy.origin },
      })
      let out = ''
      let err = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
      child.stdin.end()
      const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
        child.on('close', (code) => resolve({ code, out, err })),
      )
      return { child, ended }
    }
    const send = ['drive', 'upload', '--file', join(home, 'big.bin'), '-q', 'sha256']
    const first = run(...send)
    killed = () => first.child.kill('SIGKILL')
    await first.ended
    killed = null
    const second = await run(...send).ended
    assert.equal(second.code, 0, second.err)
    assert.match(second.err, /Resuming big\.bin at \d+ %/)
    assert.equal(second.out.trim(), createHash('sha256').update(bytes).digest('hex'))
    assert.ok(proxy.refused.length >= 3, 'parts that were too large were made smaller')
    const { data: files } = (await alice.get(`/drive/files?workspace_id=${alice.workspaceId}`)).body
    assert.deepEqual(
      files.map(({ name }: { name: string }) => name),
      ['big.bin'],
    )

    await writeFile(join(home, 'wide.json'), JSON.stringify({ content: 'x'.repeat(1_500_000) }))
    const chat = (await alice.post('/chats', { model: 'sim/echo' })).body.data.id as string
    const refused = await run('chats', 'send', chat, '--input', join(home, 'wide.json')).ended
    assert.match(refused.err, /A proxy in front of the server rejected the body/)
  } finally {
    await rm(home, { recursive: true })
  }
})

test('an upload fails if its name is taken meanwhile', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const home = await mkdtemp(join(tmpdir(), 'uk-upload-'))
  let parts = 0
  let cut: (() => void) | null = null
  await using proxy = await proxyTo(server.origin, ({ method }) => {
    // Not the last of three parts, which may arrive complete.
    if (method === 'PATCH' && ++parts === 2) cut?.()
    return false
  })
  try {
    await writeFile(join(home, 'taken.bin'), randomBytes(3 * MIB))
    const run = async (onSpawn: (end: () => void) => void = () => {}) => {
      const child = spawn(program, ['drive', 'upload', '--file', join(home, 'taken.bin')], {
        env: { PATH: process.env.PATH!, HOME: home, UK_KEY: key, UK_ORIGIN: proxy.origin },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      onSpawn(() => child.kill('SIGKILL'))
      let err = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
      const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
      return { code, err }
    }
    await run((end) => (cut = end))
    const made = await uploadWhole(alice, { workspace_id: alice.workspaceId }, Buffer.from('other'), 'taken.bin')
    assert.equal(made.status, 201, made.text)
    cut = null
    const refused = await run()
    assert.notEqual(refused.code, 0)
    assert.match(refused.err, /Resuming taken\.bin[\s\S]*uk: A file with this name already exists/)
  } finally {
    await rm(home, { recursive: true })
  }
})
