import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { usageOf } from '#core/usage.ts'
import { collect, fold, textOfAnswer } from '../model/answer.ts'
import { decode as decodeMessages } from '../wire/anthropic-messages/decode/decode.ts'
import type { Chunk, CanonicalRequest, CanonicalMessage } from '../model/canonical-request.ts'
import { countWords } from './words.ts'
import { simulate } from './simulate.ts'

const never = new AbortController().signal
const messageOf = (role: 'user' | 'assistant', text: string): CanonicalMessage => ({
  role,
  content: [{ type: 'text', text }],
})
const play = (canonical: Partial<CanonicalRequest>) =>
  Array.fromAsync(simulate({ model: 'sim/echo', messages: [], ...canonical }, never, 'anybody'))
const script = (value: unknown, more: Partial<CanonicalRequest> = {}, after: CanonicalMessage[] = []) =>
  play({
    model: 'sim/script',
    messages: [messageOf('user', typeof value === 'string' ? value : JSON.stringify(value)), ...after],
    ...more,
  })
const mistakeOf = async (value: unknown) => {
  const [first, ...rest] = await script(value)
  assert.deepEqual(rest, [])
  assert.ok(first?.type === 'error')
  assert.equal(first.error.kind, 'bad_request')
  return first.error.message
}

test('sim/echo answers with the last user text, one delta per word, and counts words', async () => {
  const messages = [
    messageOf('user', 'first'),
    messageOf('assistant', 'yes'),
    messageOf('user', ' hello  brave\nnew world '),
  ]
  const chunks = await play({ messages })
  assert.deepEqual(
    chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.text] : [])),
    [' hello', '  brave', '\nnew', ' world '],
  )
  const answer = fold(chunks)
  assert.deepEqual(answer.usage, usageOf({ input_tokens: 6, output_tokens: 4 }))
  assert.equal(answer.finish?.reason, 'stop')
})

test('any text comes back byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
      assert.equal(textOfAnswer(fold(await play({ messages: [messageOf('user', text)] }))), text)
    }),
  )
})

test('words are separated by any kind of white space', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const text = `one${String.fromCharCode(code)}two`
    assert.equal(countWords(text), text.match(/\S+/g)!.length, code.toString(16))
  }
})

test('white space is read once, however much there is', async () => {
  // Reading it once per character would take hours.
  for (const text of [
    ' '.repeat(8_000_000),
    `${'\n'.repeat(8_000_000)}word`,
    `word${' '.repeat(8_000_000)}`,
    ' \n'.repeat(4_000_000),
  ])
    assert.equal(textOfAnswer(fold(await play({ messages: [messageOf('user', text)] }))), text)
})

test('the output limit cuts the answer with length; a limit of 0 returns an empty answer', async () => {
  const messages = [messageOf('user', 'one two three')]
  const answer = fold(await play({ messages, max_output_tokens: 2 }))
  assert.deepEqual([textOfAnswer(answer), answer.finish?.reason, answer.usage?.output_tokens], ['one two', 'length', 2])
  const whole = fold(await play({ messages, max_output_tokens: 3 }))
  assert.deepEqual([textOfAnswer(whole), whole.finish?.reason], ['one two three', 'stop'])
  const none = fold(await play({ messages, max_output_tokens: 0 }))
  assert.deepEqual([textOfAnswer(none), none.finish?.reason], ['', 'stop'])
})

test('no answer exceeds the model’s own limit', async () => {
  const answer = fold(await play({ messages: [messageOf('user', 'w '.repeat(100_001))], max_output_tokens: 200_000 }))
  assert.deepEqual([answer.usage?.output_tokens, answer.finish?.reason], [100_000, 'length'])
})

test('a stop sequence ends the answer before it', async () => {
  const answer = fold(await play({ messages: [messageOf('user', 'one two END three')], stop: ['three', 'END'] }))
  assert.equal(textOfAnswer(answer), 'one two ')
  assert.deepEqual(answer.finish, { reason: 'stop', native: 'stop', stop_sequence: 'END' })
})

test('an input longer than the context is refused before any chunk', async () => {
  const [first, ...rest] = await play({ messages: [messageOf('user', 'w '.repeat(1_000_001))] })
  assert.deepEqual(rest, [])
  assert.ok(first?.type === 'error')
  assert.equal(first.error.kind, 'context_length')
  assert.equal(first.error.message, 'prompt is too long: 1000001 tokens > 1000000 maximum')
})

test('sim/script runs turn k after k assistant messages, then an empty stop', async () => {
  const turns = [
    [
      { reasoning: 'let me see' },
      { tool_call: { name: 'now', arguments: { zone: 'UTC' } } },
      { tool_call: { name: 'ping', arguments: {} } },
    ],
    [{ text: 'It is noon.' }],
  ]
  const first = fold(await script({ turns }))
  assert.deepEqual(
    first.content.map((part) => ('id' in part ? { ...part, id: 'id' } : part)),
    [
      { type: 'reasoning', text: 'let me see' },
      { type: 'tool_call', id: 'id', name: 'now', arguments: '{"zone":"UTC"}' },
      { type: 'tool_call', id: 'id', name: 'ping', arguments: '{}' },
    ],
  )
  assert.equal(first.finish?.reason, 'tool_calls')
  assert.equal(first.usage?.reasoning_tokens, 3)
  const result: CanonicalMessage = {
    role: 'tool',
    content: [{ type: 'tool_result', id: 'x', content: [], is_error: false }],
  }
  const after = [{ role: 'assistant', content: first.content } as CanonicalMessage, result]
  assert.equal(textOfAnswer(fold(await script({ turns }, {}, after))), 'It is noon.')
  const last = fold(await script({ turns }, {}, [...after, messageOf('assistant', 'It is noon.')]))
  assert.deepEqual([last.content, last.finish?.reason], [[], 'stop'])
})

test('a script still runs if the client adds reminders to its messages and tool results', async () => {
  const block = (text: string) => ({ type: 'text', text: `<system-reminder>${text}</system-reminder>` })
  const words = JSON.stringify({ turns: [[{ tool_call: { name: 'f', arguments: {} } }], [{ text: 'done' }]] })
  const { canonical } = decodeMessages({
    model: 'sim/script',
    max_tokens: 100,
    messages: [
      { role: 'user', content: [block('be brief'), { type: 'text', text: words }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }, block('go on')] },
    ],
  })
  assert.equal(textOfAnswer(await collect(simulate(canonical, never, 'anybody'))), 'done')
})

test('`steps` alone is one turn, and usage is reported as the script says', async () => {
  const usage = { input_tokens: 1000, cache_read_tokens: 10, output_tokens: 5 }
  const answer = fold(await script({ steps: [{ text: 'hi there' }], usage }))
  assert.equal(textOfAnswer(answer), 'hi there')
  assert.deepEqual(answer.usage, usageOf(usage))
})

test('an error step fails before or during an answer, with its type and status', async () => {
  const [only] = await script({ steps: [{ error: { type: 'rate_limit_error', message: 'slow down', status: 429 } }] })
  assert.deepEqual(only, { type: 'error', error: { kind: 'rate_limited', message: 'slow down', status: 429 } })
  const half = fold(
    await script({
      steps: [{ text: 'one two' }, { error: { type: 'overloaded', message: 'busy' } }, { text: 'never' }],
    }),
  )
  assert.deepEqual(
    [textOfAnswer(half), half.error, half.finish],
    ['one two', { kind: 'overloaded', message: 'busy' }, null],
  )
  assert.equal(half.usage?.output_tokens, 2)
})

test('long answers take turns, one account after the other', async () => {
  let chunks = 0
  const messages = [messageOf('user', 'word '.repeat(2_000))]
  const playFor = async (party: string): Promise<void> => {
    for await (const _ of simulate({ model: 'sim/echo', messages }, never, party)) chunks++
  }
  const [accounts, streams] = [['alice', 'bob'], 6]
  const open = { streams: accounts.length * streams }
  const all = accounts.flatMap((party) =>
    Array.from({ length: streams }, () => playFor(party).then(() => open.streams--)),
  )
  const perTurn: number[] = []
  for (let last = 0; open.streams > 0; last = chunks) {
    await new Promise(setImmediate)
    perTurn.push(chunks - last)
  }
  await Promise.all(all)
  // Each starts at once.
  const [first, ...later] = perTurn
  assert.ok(first! <= (accounts.length * streams + 2) * 256, String(first))
  assert.ok(Math.max(...later) <= 2 * 256, `${Math.max(...later)} chunks in one turn`)
})

test('a delay is waited out, and ends at once when the caller disconnects', async () => {
  const before = performance.now()
  await script({ steps: [{ delay_ms: 30 }, { text: 'late' }] })
  assert.ok(performance.now() - before >= 29)
  const leaving = new AbortController()
  const messages = [messageOf('user', JSON.stringify({ steps: [{ text: 'a' }, { delay_ms: 600_000 }, { text: 'b' }] }))]
  const chunks: Chunk[] = []
  const reason = new Error('gone')
  await assert.rejects(async () => {
    for await (const chunk of simulate({ model: 'sim/script', messages }, leaving.signal, 'anybody')) {
      chunks.push(chunk)
      if (chunk.type === 'text') setImmediate(() => leaving.abort(reason))
    }
  }, reason)
  assert.deepEqual(
    chunks.map(({ type }) => type),
    ['start', 'text'],
  )
})

test('an error in a script is named by its path', async () => {
  const wrong: [unknown, RegExp][] = [
    ['{"steps": [', /must be JSON/],
    ['[1]', /must be a JSON object/],
    [{}, /`turns` must be an array/],
    [{ turns: [{}] }, /`turns\.0` must be an array/],
    [{ steps: [], turns: [] }, /can’t be combined/],
    [{ steps: [{ text: 1 }] }, /`steps\.0\.text` must be a string/],
    [{ steps: [{ text: 'a', delay_ms: 1 }] }, /`steps\.0` must have exactly one/],
    [{ steps: [{ dance: 1 }] }, /`steps\.0\.dance` isn’t supported/],
    [{ turns: [[{ text: '' }], [{ delay_ms: 600_001 }]] }, /`turns\.1\.0\.delay_ms` must be a number from 0 to 600000/],
    [{ steps: [{ tool_call: { arguments: {} } }] }, /`steps\.0\.tool_call\.name` must be a string/],
    [{ steps: [{ error: { type: 'x', message: 'm', status: 200 } }] }, /`steps\.0\.error\.status`/],
    [{ steps: [], usage: { output_tokens: -1 } }, /`usage\.output_tokens`/],
    [{ steps: [], usage: { tokens: 1 } }, /`usage\.tokens` isn’t supported/],
    [{ steps: Array.from({ length: 10_001 }, () => ({ text: '' })) }, /up to 10000 steps/],
    [{ steps: [], pace: 1 }, /`pace` isn’t supported/],
  ]
  for (const [value, message] of wrong) assert.match(await mistakeOf(value), message)
  const [unheard] = await play({ model: 'sim/unheard-of' })
  assert.ok(unheard?.type === 'error')
  assert.equal(unheard.error.kind, 'model_not_found')
})
