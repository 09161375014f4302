import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { openaiChat } from './formats/openai-chat.ts'
import { Frames } from './frames.ts'
import { hideUsage } from './hide-usage.ts'

const data = (json: unknown, isSpaced: boolean): string => {
  const text = JSON.stringify(json)
  return `data: ${isSpaced ? text.replace('"usage":', '"usage": ') : text}\n\n`
}
const content = (text: string) => ({
  choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
  usage: null,
})
const usageReport = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

test('only the usage event is removed, however the stream is split and with any content', () => {
  const texts = fc.array(
    fc.oneof(fc.string(), fc.constantFrom('"usage":{', '\n\ndata: {"usage":{}}', '{"choices":[],"usage":{}}')),
  )
  fc.assert(
    fc.property(
      texts,
      fc.boolean(),
      fc.boolean(),
      fc.array(fc.nat(), { maxLength: 20 }),
      (words, isSpaced, beside, cuts) => {
        const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: beside ? usageReport : null }
        const expected = [...words.map((word) => data(content(word), isSpaced)), data(last, isSpaced)].join('')
        const stream = Buffer.from(`${expected}${data({ choices: [], usage: usageReport }, isSpaced)}data: [DONE]\n\n`)
        const at = [...new Set(cuts.map((position) => position % stream.length))].toSorted((a, b) => a - b)
        const frames = new Frames()
        let out = ''
        for (const [index, from] of [0, ...at].entries()) {
          const whole = frames.push(stream.subarray(from, at[index] ?? stream.length))
          if (whole) out += hideUsage(whole).toString()
        }
        assert.equal(out, `${expected}data: [DONE]\n\n`)
        const { usage, finishReason, closed: isClosed } = openaiChat.readStream('', frames.tail())
        assert.deepEqual([usage?.total_tokens, finishReason, isClosed], [10, 'stop', true])
      },
    ),
  )
})

test('usage beside content stays, as some providers send it', () => {
  const event = data({ choices: [{ index: 0, delta: { content: 'x' } }], usage: usageReport }, false)
  assert.equal(hideUsage(Buffer.from(event)).toString(), event)
})

test('the end of a whole answer is read without the rest, but only where it is certain', () => {
  const answer = (more: object) =>
    JSON.stringify({ choices: [{ message: { content: 'say "usage":{"x":1}' }, finish_reason: 'length' }], ...more })
  const reading = openaiChat.readEnd(answer({ usage: usageReport, system_fingerprint: null }))
  assert.deepEqual([reading?.usage?.input_tokens, reading?.finishReason], [7, 'length'])
  assert.equal(openaiChat.readEnd(answer({ nested: { a: 1, usage: usageReport } })), null, 'not at the top')
  assert.equal(openaiChat.readEnd(answer({})), null)
  assert.equal(openaiChat.readEnd(`${answer({ usage: usageReport })}}`), null)
  assert.equal(openaiChat.readEnd('{"choices":[],"usage":{"prompt_tokens":1'), null)
})
