import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pcmIn } from './pcm.ts'
import { spokenOf } from './spoken.ts'

test('audio split into chunks of any length decodes to the same samples', () => {
  const bytes = Buffer.alloc(8)
  for (const [at, value] of [0, -32_768, 16_384, 32_767].entries()) bytes.writeInt16LE(value, at * 2)
  const whole = [...pcmIn()(bytes.toString('base64'))]
  assert.deepEqual(whole.slice(0, 3), [0, -1, 0.5])
  const read = pcmIn()
  const pieces = [bytes.subarray(0, 1), bytes.subarray(1, 4), bytes.subarray(4, 7), bytes.subarray(7)]
  assert.deepEqual(
    pieces.flatMap((piece) => [...read(piece.toString('base64'))]),
    whole,
  )
})

test('text is read aloud without markup, URLs and code', () => {
  const text =
    '# Views\n\n- **From** [the lake](https://a.example/b)\n- `x`\n\n```ts\nconst a = 1\n```\nhttps://a.example end'
  assert.equal(spokenOf(text).replace(/\s+/g, ' '), 'Views From the lake x (code) (a link) end')
})
