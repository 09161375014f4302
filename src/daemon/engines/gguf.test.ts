import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '#core/errors.ts'
import { tinyGguf } from '#test/local-inference/tiny-gguf.ts'
import { readGguf } from './gguf.ts'

const { bytes } = tinyGguf()

test('a model’s header is read, and a truncated, empty or different file is rejected with the reason', async (t) => {
  const room = await mkdtemp(join(tmpdir(), 'uk-gguf-'))
  t.after(() => rm(room, { recursive: true, force: true }))
  const path = join(room, 'model')
  const readContent = async (content: Buffer) => {
    await writeFile(path, content)
    return readGguf(path)
  }
  assert.deepEqual(await readContent(bytes), {
    architecture: 'llama',
    name: 'tiny',
    context_length: 4096,
    quantization: 'F32',
    chat: true,
  })
  for (const [content, reason] of [
    [Buffer.alloc(0), /extends past the end/],
    [Buffer.from('<html>not found</html>'), /doesn’t start with `GGUF`/],
    [bytes.subarray(0, bytes.length - 1), /The file is incomplete/],
    [bytes.subarray(0, 5_000), /extends past the end/],
    [Buffer.concat([bytes.subarray(0, 8), Buffer.alloc(bytes.length - 8)]), /contains no model/],
    [
      Buffer.concat([Buffer.from('GGUF'), Buffer.from([3, 0, 0, 0]), Buffer.alloc(16, 255)]),
      /a number in its header is out of range/,
    ],
  ] as const)
    await assert.rejects(
      readContent(content),
      (error: unknown) => error instanceof Refusal && reason.test(error.message),
      String(reason),
    )
})

test('any bytes in a header are either read or rejected', async (t) => {
  const room = await mkdtemp(join(tmpdir(), 'uk-gguf-'))
  t.after(() => rm(room, { recursive: true, force: true }))
  const path = join(room, 'model')
  const change = fc.array(fc.tuple(fc.nat(6_000), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(change, async (changes) => {
      const content = Buffer.from(bytes.subarray(0, 40_000))
      for (const [at, byte] of changes) content[at] = byte
      await writeFile(path, content)
      await assert.rejects(readGguf(path), Refusal)
    }),
    { numRuns: 300 },
  )
})
