import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type Scan, createJsonScan } from './json-scan.ts'
import { sourceHash } from './scan.wasm.ts'

const FILE = 1
const TOOL = 2
const ADDRESS = 4
const scan = createJsonScan({
  file_id: { name: FILE },
  file_ix: { name: ADDRESS },
  url: { name: ADDRESS },
  tool_use: { value: TOOL },
  function: { item: true },
  metadata: { data: true },
  input: { data: 'within' },
})
const scanText = (text: string): Scan | null => scan(Buffer.from(text))
const seenBits = (text: string): number => scanText(text)!.seen & (FILE | TOOL | ADDRESS)

/** The text of each top-level field according to `JSON.parse`; null if it rejects the text. */
function fieldsByParse(text: string): Record<string, unknown> | null {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : null
  } catch {
    return null
  }
}

/** The same by the spans of a scan. */
function fieldsBySpans(text: string, { spans }: Scan): Record<string, unknown> {
  const bytes = Buffer.from(text)
  const at = (from: number, to: number): unknown => JSON.parse(bytes.toString('utf8', from, to))
  const fields: [string, unknown][] = []
  for (let i = 0; i < spans.length; i += 4)
    fields.push([at(spans[i]!, spans[i + 1]!) as string, at(spans[i + 2]!, spans[i + 3]!)])
  // A field may be called `__proto__`, like any other name here.
  return Object.fromEntries(fields)
}

test('the compiled scan matches its source', () => {
  const source = readFileSync(new URL('scan.as', import.meta.url))
  assert.equal(
    sourceHash,
    createHash('sha256').update(source).digest('hex'),
    'run: sh bin/run packages/json-scan/compiler/build.ts',
  )
})

/** Accepted texts are read as by `JSON.parse`; texts with nothing unusual at the top level are accepted. */
function holds(text: string): void {
  const result = scanText(text)
  const json = fieldsByParse(text)
  if (result !== null) return assert.deepEqual(fieldsBySpans(text, result), json, text)
  const unusual =
    json === null ||
    /\\/.test(
      Object.keys(json)
        .map((key) => JSON.stringify(key))
        .join(),
    ) ||
    text.includes('\\u')
  assert.ok(unusual || Object.keys(json).length > 32 || /"(\w*)"[^]*"\1"\s*:/.test(text), text)
}

test('any JSON, in any spelling, is read as by `JSON.parse`', () => {
  const writer = fc.constantFrom(
    (value: unknown) => JSON.stringify(value),
    (value: unknown) => ` \r\n${JSON.stringify(value, null, '\t')}\n`,
    (value: unknown) => JSON.stringify(value, null, 1).replaceAll('"', ' "').replaceAll(':', ' :'),
  )
  const key = fc.oneof(fc.constantFrom('model', 'a', 'é', '', 'file_id'), fc.string({ unit: 'grapheme' }))
  const object = fc.dictionary(key, fc.jsonValue({ maxDepth: 4 }), { maxKeys: 8 })
  fc.assert(
    fc.property(object, writer, (value, write) => holds(write(value))),
    { numRuns: 1_000 },
  )
})

test('text that is broken anywhere is refused, and nothing else', () => {
  const object = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
  const piece = fc.oneof(
    fc.constantFrom(...'{}[]:,"\\ \t\n\0\u001f\u007f0123456789.eE+-truefalsn/*\'éu'),
    fc.constantFrom('\\u', '\\u0000', '\\ud800', '\\x', '01', '-', '1.', '1e', 'nul', 'NaN', '\ufeff', '""', '\u2028'),
  )
  fc.assert(
    fc.property(object, fc.nat(), fc.nat(4), piece, (value, at, removedLength, insertion) => {
      const text = JSON.stringify(value)
      const from = at % (text.length + 1)
      holds(text.slice(0, from) + insertion + text.slice(from + removedLength))
    }),
    { numRuns: 5_000 },
  )
})

test('text that only resembles JSON is refused', () => {
  const bad = `[] "a" 1 null {a:1} {'a':1} {"a":1,} {,} {"a"} {"a":} {"a":1 {"a":1}} {"a":1}x {"a":01} {"a":-} {"a":1.} {"a":.5}
    {"a":1e} {"a":+1} {"a":0x1} {"a":NaN} {"a":truex} {"a":tru} {"a":[1,]} {"a":[,]} {"a":[1}} {"a":{]} {"a":"} {"a":"\\"}
    {"a":"\\x"} {"a":"\\u12"} {"a":"\\u12g4"} {"a":1/**/} {"a":1}// ] } , : {"a":"b""c":1} {"a":1"b":2} {"a":1:2}`
  for (const text of [
    ...bad.split(/\s+/),
    '',
    ' ',
    '{"a":"\n"}',
    '{"a":"\0"}',
    '{"a":1\0}',
    '\v{}',
    '{\u00a0}',
    '\ufeff{}',
  ])
    assert.deepEqual([scanText(text), fieldsByParse(text)], [null, null], text)
})

test('JSON truncated anywhere is refused, also after a longer text was read', () => {
  const text = '{"a":[true,false,null,-1.5e+10,"x\\n\\u00e9é\\"",{"b":{}}],"c":"0123456789abcdef0123456789"}'
  assert.ok(scanText(text))
  for (let end = 0; end < text.length; end++) assert.equal(scanText(text.slice(0, end)), null, text.slice(0, end))
  assert.ok(scanText(text))
})

test('numbers, escapes, and strings of any length are read unchanged', () => {
  for (const text of '0 -0 10 -1.50 1e9 1E-9 0.0e+00 true false null "" "\\\\" "\\\\\\"" "\\u00E9\\ud800" []'.split(
    ' ',
  ))
    holds(`{"a":${text},"b":[${text}]}`)
  for (let length = 0; length < 70; length++)
    for (const end of ['', '\\\\', '\\"', 'é', '\\u0041'])
      assert.deepEqual(
        fieldsBySpans(`{"a":"${'x'.repeat(length)}${end}"}`, scanText(`{"a":"${'x'.repeat(length)}${end}"}`)!),
        {
          a: 'x'.repeat(length) + (JSON.parse(`"${end}"`) as string),
        },
      )
})

test('duplicate or escaped top-level names are left to `JSON.parse`, and so is nesting deeper than 512', () => {
  for (const text of ['{"a":1,"a":2}', '{"model":1,"mod\\u0065l":2}', '{"\\n":1}'])
    assert.equal(scanText(text), null, text)
  assert.ok(scanText('{"a":{"b":1,"b":2,"\\u0063":3},"b":1}'))
  const nestedText = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  assert.ok(scanText(nestedText(512)))
  assert.equal(scanText(nestedText(513)), null)
  assert.equal(scanText(nestedText(1_000_000)), null)
  const fields = (count: number): string => `{${Array.from({ length: count }, (_, n) => `"${n}":0`).join()}}`
  assert.equal(scanText(fields(32))!.spans.length, 4 * 32)
  assert.equal(scanText(fields(33)), null)
})

test('a text of megabytes is read like a short one; a longer one is left to `JSON.parse`', () => {
  const text = (bytes: number): string => `{"a":"${'é'.repeat(bytes / 2)}","b":1}`
  assert.equal(Object.keys(fieldsBySpans(text(3 << 20), scanText(text(3 << 20))!)).length, 2)
  assert.equal(scanText(text(5 << 20)), null)
  assert.ok(scanText('{"a":1}'))
})

test('words are found as names or as values, as configured, and only whole', () => {
  assert.equal(seenBits('{"file_id":1}'), FILE)
  assert.equal(seenBits('{"a":[{"b":{"file_id":null}}]}'), FILE)
  assert.equal(seenBits('{"file_ix":1}'), ADDRESS)
  assert.equal(seenBits('{"a":"file_id","b":["url"],"tool_use":1}'), 0)
  assert.equal(seenBits('{"a":{"type":"tool_use"}}'), TOOL)
  assert.equal(seenBits('{"a":["tool_use"]}'), TOOL)
  assert.equal(seenBits('{"file_idx":1,"file_i":2,"a":"tool_use ","File_id":3}'), 0)
})

test('no word counts in the user’s own data, and after it they do again', () => {
  assert.equal(seenBits('{"metadata":{"file_id":1,"a":[{"url":1}],"metadata":{"url":1}},"b":"tool_use"}'), TOOL)
  assert.equal(seenBits('{"metadata":[{"file_id":1}],"url":1}'), ADDRESS)
  assert.equal(seenBits('{"metadata":"x","url":1}'), ADDRESS)
  assert.equal(seenBits('{"a":[{"metadata":{"file_id":1}},{"file_id":1}]}'), FILE)
  assert.equal(seenBits('{"input":[{"file_id":1,"input":{"url":1}}]}'), FILE)
})

test('an escape that could spell a letter of a word counts as every word', () => {
  for (const text of ['{"a":{"fil\\u0065_id":1}}', '{"a":"tool\\u005fuse"}', '{"a":"\\u0035"}'])
    assert.equal(seenBits(text), FILE | TOOL | ADDRESS, text)
  for (const text of ['{"a":"\\u003c\\u00e9\\ud83d\\u2028"}', '{"a":"\\\\u0065"}'])
    assert.equal(seenBits(text), 0, text)
})

test('bits without a word are always set, so no query gets a false negative', () => {
  assert.equal(scanText('{"a":1}')!.seen & 8, 8)
  assert.equal(createJsonScan()(Buffer.from('{}'))!.seen, 0x3fff)
})

test('the scan reports arrays whose elements all have the item as an object', () => {
  const holdsAll = (tools: string): boolean => scanText(`{"x":1,"tools":${tools},"y":[1]}`)!.holds === 1 << 1
  for (const tools of ['[]', '[{"function":{}}]', '[{"type":"function","function":{"a":1}}, {"function":{"b":[1]}}]'])
    assert.ok(holdsAll(tools), tools)
  for (const tools of [
    '1',
    '{}',
    '{"a":{"function":{}}}',
    '[1]',
    '["function"]',
    '[[{"function":{}}]]',
    '[{}]',
    '[{"function":{}},{}]',
    '[{"function":null}]',
    '[{"function":{},"function":null}]',
    '[{"a":{"function":{}}}]',
    '[{"function":[]}]',
    '[{"function":{}},null]',
  ])
    assert.equal(holdsAll(tools), false, tools)
})
