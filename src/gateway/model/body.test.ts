import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { readBody, setField, splice, spliceApart } from './body.ts'

const setAndParse = (text: string, key: string, value: string): string => {
  const body = readBody(Buffer.from(text))
  return splice(body, [setField(body, key, value)]).toString()
}

test('the value of `model` is replaced and every other byte stays', () => {
  assert.equal(
    setAndParse('{ "messages" : [ ] ,\n\t"model" :\r\n "openai/gpt-5" , "x":1.50e3}', 'model', '"gpt-5"'),
    '{ "messages" : [ ] ,\n\t"model" :\r\n "gpt-5" , "x":1.50e3}',
  )
  assert.equal(setAndParse('{"model":"a\\"b\\\\","n":1}', 'model', '"c"'), '{"model":"c","n":1}')
})

test('only the top-level key counts', () => {
  const text = '{"metadata":{"model":"x"},"s":"\\"model\\":\\"y\\"","t":"say \\"model","model":"z","u":["model"]}'
  assert.equal(setAndParse(text, 'model', '"w"'), text.replace('"z"', '"w"'))
})

test('a key written with escapes is found', () => {
  assert.equal(setAndParse('{"mod\\u0065l":"a","b":"\\u00e9"}', 'model', '"c"'), '{"mod\\u0065l":"c","b":"\\u00e9"}')
})

test('a duplicate key is refused, however it is written', () => {
  for (const text of [
    '{"model":"a","model":"b"}',
    '{"model":"a","x":{"model":1},"mod\\u0065l":"b"}',
    '{"model":"a", "\\u006dodel":"a"}',
  ])
    assert.throws(() => setAndParse(text, 'model', '"c"'), { code: 'invalid_parameter', param: 'model' })
})

test('a missing field is inserted at the front', () => {
  assert.equal(setAndParse(' { "model":"a"}', 'max_tokens', '5'), ' {"max_tokens":5, "model":"a"}')
  assert.equal(setAndParse('{}', 'max_tokens', '5'), '{"max_tokens":5}')
})

test('several edits at once', () => {
  const body = readBody(Buffer.from('{"stream_options":{"a":[1,"}"]},"model":"long name","stream":true}'))
  const edits = [
    setField(body, 'model', '"m"'),
    setField(body, 'stream_options', '{}'),
    setField(body, 'max_tokens', '1'),
  ]
  assert.equal(splice(body, edits).toString(), '{"max_tokens":1,"stream_options":{},"model":"m","stream":true}')
})

test('only the start of a long body is copied if all edits are there', () => {
  for (const words of ['x', 'ü'])
    for (const [before, after] of [
      ['', ',"stream":true'],
      ['"stream":true,', ''],
    ]) {
      const long = JSON.stringify(words.repeat(40_000))
      const early = Buffer.from(`{${before}"model":"long name"${after},"messages":${long}}`)
      const late = Buffer.from(`{"messages":${long},"model":"long name"}`)
      for (const bytes of [early, late]) {
        const body = readBody(bytes)
        const edits = [setField(body, 'model', '"m"'), setField(body, 'max_tokens', '1')]
        const { lead, rest } = spliceApart(body, edits)
        assert.equal(rest.buffer === bytes.buffer, bytes === early)
        const whole = Buffer.concat([Buffer.from(lead, 'latin1'), rest]).toString()
        assert.equal(whole, bytes.toString().replace('"long name"', '"m"').replace('{', '{"max_tokens":1,'))
        assert.equal(splice(body, edits).toString(), whole)
      }
    }
})

test('any object keeps its meaning except for the changed field, with any keys, values and spacing', () => {
  // No backslash: after `{"\\":1}`, V8 13.6 also takes the key of `{"\n":1}` for a backslash.
  const key = fc.oneof(
    fc.constantFrom('model', 'mode', 'a', 'stream_options', 'é', '"', 'model"', '\u2028'),
    fc.string().filter((words) => !words.includes('\\')),
  )
  const field = fc.constantFrom('model', 'stream_options', 'max_tokens')
  const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('\\\\'))
  const object = fc.dictionary(key, json)
  const writer = fc.constantFrom(
    (value: unknown) => JSON.stringify(value),
    (value: unknown) => JSON.stringify(value, null, '\t'),
    (value: unknown) =>
      JSON.stringify(value).replaceAll(
        /[mo\u0080-\uffff]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
  )
  fc.assert(
    fc.property(object, json, field, writer, (others, value, field, write) => {
      const input = { ...others, [field]: value }
      const expected = { ...(JSON.parse(JSON.stringify(input)) as object), [field]: 'new' }
      assert.deepEqual(JSON.parse(setAndParse(write(input), field, '"new"')), expected)
      const { [field]: _, ...rest } = input
      assert.deepEqual(JSON.parse(setAndParse(write(rest), field, '"new"')), {
        ...(JSON.parse(JSON.stringify(rest)) as object),
        [field]: 'new',
      })
    }),
    { numRuns: 300 },
  )
})

test('a body that isn’t JSON is refused with the place of the error, an empty one as empty', () => {
  for (const text of ['', ' \n\t'])
    assert.throws(() => readBody(Buffer.from(text)), { message: 'The body is empty. Send a JSON object.' })
  assert.throws(() => readBody(Buffer.from('{"a": 1\n "b": 2}')), { message: /line 2 column 2/ })
  const message = 'The request body isn’t valid JSON: unexpected `o`.'
  assert.throws(() => readBody(Buffer.from(`{"é": nope${'x'.repeat(10_000)}}`)), { message })
})

test('a body that isn’t a JSON object is refused, and so is one that nests too deep', () => {
  for (const text of ['', '{', '[]', 'null', '"a"', '{"a":1}x', "{'a':1}"])
    assert.throws(() => readBody(Buffer.from(text)), { code: 'malformed_json' })
  assert.throws(() => readBody(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), { code: 'malformed_json' })
  const nestedBody = (levels: number): Buffer => Buffer.from(`{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`)
  readBody(nestedBody(512))
  assert.throws(() => readBody(nestedBody(513)), { code: 'malformed_json' })
  assert.throws(() => readBody(nestedBody(5_000_000)), { code: 'malformed_json' })
})
