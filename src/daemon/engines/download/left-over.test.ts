/** An installation that finds the disk full frees what it has taken; one that was cut keeps it for the next try. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { type Shelf, shelf } from '#test/local-inference/shelf.ts'
import type { Input } from '#daemon-protocol/operations.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { createEngines } from '../engines.ts'

const HUGE = 10 ** 15
let folder: string
let server: Shelf
let engines: ReturnType<typeof createEngines>

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uk-left-over-'))
  server = await shelf({ '/model.gguf': Buffer.alloc(1_000), '/fresh.gguf': Buffer.alloc(1_000) })
  engines = createEngines({ folder, ollama: 'http://127.0.0.1:1', local: [server.host] })
})
after(async () => {
  await engines[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const partialFiles = (): string[] => readdirSync(join(folder, 'models')).filter((name) => name.includes('.part'))

/** Bytes as the server's stream brings them, to which no event matters. */
const bringing = (...pieces: Buffer[]) =>
  ({
    event() {},
    async *[Symbol.asyncIterator]() {
      for (const [n, bytes] of pieces.entries()) yield { type: 'bytes', bytes, offset: n * bytes.length, channel: 0 }
      yield { type: 'finished' }
    },
    // An installation only reads its stream and reports progress.
  }) as unknown as Stream

const install = (source: Input<'engine.install'>['source'], stream = bringing()) =>
  engines.handlers['engine.install']({ key: 'k', name: 'm', source }, stream, { signal: new AbortController().signal })

/** Sends some bytes and breaks off. */
const cut = (_: unknown, response: ServerResponse): void => {
  response.writeHead(200, { etag: '"one"', 'content-length': 1_000 }).write(Buffer.alloc(100), () => response.destroy())
}
const announces = (_: unknown, response: ServerResponse): void =>
  void response.writeHead(200, { etag: '"two"', 'content-length': HUGE }).end()

const url = { type: 'url' as const, sha256: null, url: '' }
const sha256 = createHash('sha256').update('x').digest('hex')
const upload = { type: 'upload' as const, sha256 }
const isFull = (error: unknown): boolean => error instanceof Refusal && error.code === 'storage_full'

test('an interrupted download keeps its partial file, and a full disk deletes it', async () => {
  const source = { ...url, url: `${server.origin}/model.gguf` }
  server.next.push(cut, cut, cut)
  await assert.rejects(install(source), (error: unknown) => error instanceof Refusal && error.code === 'upstream_error')
  assert.equal(partialFiles().length, 2, 'the part and what is known of it')
  server.next.push(announces)
  await assert.rejects(install(source), isFull)
  assert.deepEqual(partialFiles(), [])
})

test('a download that is too large from the start leaves nothing', async () => {
  server.next.push(announces)
  await assert.rejects(install({ ...url, url: `${server.origin}/fresh.gguf` }), isFull)
  assert.deepEqual(partialFiles(), [])
})

test('an interrupted transfer from the drive keeps its partial file, and a full disk deletes it', async () => {
  await assert.rejects(install({ ...upload, size: 500 }, bringing(Buffer.alloc(100))))
  assert.equal(partialFiles().length, 1)
  await assert.rejects(install({ ...upload, size: HUGE }, bringing(Buffer.alloc(100))), isFull)
  assert.deepEqual(partialFiles(), [])
})
