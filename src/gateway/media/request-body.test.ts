import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf, inputOf } from '#test/media/wire.ts'
import type { MediaInput } from './adapter.ts'
import { type RequestBody, formBody, jsonBody } from './request-body.ts'

async function readAll({ body }: RequestBody): Promise<{ text: string; length: number; announced: number }> {
  if (body instanceof Uint8Array)
    return { text: Buffer.from(body).toString(), length: body.length, announced: body.length }
  const whole = await bytesOf(body.bytes)
  return { text: whole.toString(), length: whole.length, announced: body.length }
}

test('a body has its announced length, for files of any length', async () => {
  for (const size of [0, 1, 2, 3, 7, 8, 100, 1_001]) {
    const file = inputOf(Buffer.alloc(size, 'ö'), 'image/png', 'ä"\n.png')
    const body = jsonBody((inline) => ({ a: inline(file, 'base64'), 'b–ü': { c: [inline(file, 'data address')] } }))
    const json = await readAll(body)
    assert.equal(json.length, json.announced)
    const base64 = Buffer.alloc(size, 'ö').toString('base64')
    assert.deepEqual(JSON.parse(json.text), { a: base64, 'b–ü': { c: [`data:image/png;base64,${base64}`] } })
    const form = await readAll(
      formBody([
        ['prompt', 'fox – ö'],
        ['none', null],
        ['list', ['a', 'b']],
        ['file', file],
      ]),
    )
    assert.equal(form.length, form.announced)
    assert.match(form.text, /filename="ä%22%0A\.png"/)
    assert.doesNotMatch(form.text, /name="none"/)
    assert.equal(form.text.match(/name="list\[\]"/g)?.length, 2)
  }
})

test('a file is read when its turn comes and never as a whole', async () => {
  const piece = Buffer.alloc(1 << 20, 1)
  const pieces = 64
  let readCount = 0
  const file: MediaInput = {
    ...inputOf(Buffer.alloc(0), 'audio/wav', 'long.wav'),
    sizeBytes: pieces * piece.length,
    async *read() {
      for (; readCount < pieces;) {
        readCount++
        yield piece
      }
    },
  }
  const { body } = formBody([
    ['model', 'whisper-1'],
    ['file', file],
  ])
  assert.ok(!(body instanceof Uint8Array))
  const bytes = body.bytes[Symbol.asyncIterator]()
  await bytes.next()
  assert.equal(readCount, 0, 'before the file stand the fields')
  for (let i = 0; i < 3; i++) await bytes.next()
  assert.ok(readCount <= 2, `${readCount} pieces were read for who took one`)
})

test('a file whose size changed aborts the request', async () => {
  const file = { ...inputOf(Buffer.from('four'), 'image/png', 'fox.png'), sizeBytes: 5 }
  const { body } = formBody([['file', file]])
  assert.ok(!(body instanceof Uint8Array))
  await assert.rejects(bytesOf(body.bytes), /another size/)
})
