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
const read = (text: string): Scan | null => scan(Buffer.from(text))
const seen = (text: string): number => read(text)!.seen & (FILE | TOOL | ADDRESS)

/** As `JSON.parse` has it: the text of each field at the top; null where it refuses. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : null
  } catch {
    return null
  }
}

/** The same by the spans of a scan. */
function spanned(text: string, { spans }: Scan): Record<string, unknown> {
  const bytes = Buffer.from(text)
  const at = (from: number, to: number): unknown => JSON.parse(bytes.toString('utf8', from, to))
  const fields: [string, unknown][] = []
  for (let i = 0; i < spans.length; i += 4)
    fields.push([at(spans[i]!, spans[i + 1]!) as string, at(spans[i + 2]!, spans[i + 3]!)])
  // One may be called `__proto__`, which is a name like any other here.
  return Object.fromEntries(fields)
}

test('the compiled scan is that of its source', () => {
  const source = readFileSync(new URL('scan.as', import.meta.url))
  assert.equal(sourceHash, createHash('sha256').update(source).digest('hex'), 'run: sh bin/run tools/json-scan.ts')
})

/** Whatever is accepted is what `JSON.parse` reads; what has nothing unusual at the top is accepted. */
function holds(text: string): void {
  const found = read(text)
  const json = parsed(text)
  if (found !== null) return assert.deepEqual(spanned(text, found), json, text)
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

test('any JSON, in any spelling, is read as `JSON.parse` reads it', () => {
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

test('whatever is broken anywhere is refused, and nothing else', () => {
  const object = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
  const piece = fc.oneof(
    fc.constantFrom(...'{}[]:,"\\ \t\n\0\u001f\u007f0123456789.eE+-truefalsn/*\'éu'),
    fc.constantFrom('\\u', '\\u0000', '\\ud800', '\\x', '01', '-', '1.', '1e', 'nul', 'NaN', '\ufeff', '""', '\u2028'),
  )
  fc.assert(
    fc.property(object, fc.nat(), fc.nat(4), piece, (value, at, gone, put) => {
      const text = JSON.stringify(value)
      const from = at % (text.length + 1)
      holds(text.slice(0, from) + put + text.slice(from + gone))
    }),
    { numRuns: 5_000 },
  )
})

test('text that only looks like JSON is refused', () => {
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
    assert.deepEqual([read(text), parsed(text)], [null, null], text)
})

test('JSON that is cut anywhere is refused, also when a longer text was read before it', () => {
  const text = '{"a":[true,false,null,-1.5e+10,"x\\n\\u00e9é\\"",{"b":{}}],"c":"0123456789abcdef0123456789"}'
  assert.ok(read(text))
  for (let end = 0; end < text.length; end++) assert.equal(read(text.slice(0, end)), null, text.slice(0, end))
  assert.ok(read(text))
})

test('numbers, escapes and strings of any length are read as they are', () => {
  for (const text of '0 -0 10 -1.50 1e9 1E-9 0.0e+00 true false null "" "\\\\" "\\\\\\"" "\\u00E9\\ud800" []'.split(
    ' ',
  ))
    holds(`{"a":${text},"b":[${text}]}`)
  for (let length = 0; length < 70; length++)
    for (const end of ['', '\\\\', '\\"', 'é', '\\u0041'])
      assert.deepEqual(spanned(`{"a":"${'x'.repeat(length)}${end}"}`, read(`{"a":"${'x'.repeat(length)}${end}"}`)!), {
        a: 'x'.repeat(length) + (JSON.parse(`"${end}"`) as string),
      })
})

test('names twice or with escapes at the top are left to `JSON.parse`, and so is what nests deeper than 512', () => {
  for (const text of ['{"a":1,"a":2}', '{"model":1,"mod\\u0065l":2}', '{"\\n":1}']) assert.equal(read(text), null, text)
  assert.ok(read('{"a":{"b":1,"b":2,"\\u0063":3},"b":1}'))
  const nested = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  assert.ok(read(nested(512)))
  assert.equal(read(nested(513)), null)
  assert.equal(read(nested(1_000_000)), null)
  const fields = (count: number): string => `{${Array.from({ length: count }, (_, n) => `"${n}":0`).join()}}`
  assert.equal(read(fields(32))!.spans.length, 4 * 32)
  assert.equal(read(fields(33)), null)
})

test('a text of megabytes is read like a short one; a longer one is left to `JSON.parse`', () => {
  const text = (bytes: number): string => `{"a":"${'é'.repeat(bytes / 2)}","b":1}`
  assert.equal(Object.keys(spanned(text(3 << 20), read(text(3 << 20))!)).length, 2)
  assert.equal(read(text(5 << 20)), null)
  assert.ok(read('{"a":1}'))
})

test('words are seen as names or as values, as they are looked for, and only whole', () => {
  assert.equal(seen('{"file_id":1}'), FILE)
  assert.equal(seen('{"a":[{"b":{"file_id":null}}]}'), FILE)
  assert.equal(seen('{"file_ix":1}'), ADDRESS)
  assert.equal(seen('{"a":"file_id","b":["url"],"tool_use":1}'), 0)
  assert.equal(seen('{"a":{"type":"tool_use"}}'), TOOL)
  assert.equal(seen('{"a":["tool_use"]}'), TOOL)
  assert.equal(seen('{"file_idx":1,"file_i":2,"a":"tool_use ","File_id":3}'), 0)
})

test('in somebody’s own data no word counts, and behind it they do again', () => {
  assert.equal(seen('{"metadata":{"file_id":1,"a":[{"url":1}],"metadata":{"url":1}},"b":"tool_use"}'), TOOL)
  assert.equal(seen('{"metadata":[{"file_id":1}],"url":1}'), ADDRESS)
  assert.equal(seen('{"metadata":"x","url":1}'), ADDRESS)
  assert.equal(seen('{"a":[{"metadata":{"file_id":1}},{"file_id":1}]}'), FILE)
  assert.equal(seen('{"input":[{"file_id":1,"input":{"url":1}}]}'), FILE)
})

test('an escape that could spell a letter of a word counts as every word', () => {
  for (const text of ['{"a":{"fil\\u0065_id":1}}', '{"a":"tool\\u005fuse"}', '{"a":"\\u0035"}'])
    assert.equal(seen(text), FILE | TOOL | ADDRESS, text)
  for (const text of ['{"a":"\\u003c\\u00e9\\ud83d\\u2028"}', '{"a":"\\\\u0065"}']) assert.equal(seen(text), 0, text)
})

test('what no word is looked out for may be anywhere: whoever asks for it is not told that it is not there', () => {
  assert.equal(read('{"a":1}')!.seen & 8, 8)
  assert.equal(createJsonScan()(Buffer.from('{}'))!.seen, 0x3fff)
})

test('the scan tells of which arrays every element has the item, as an object', () => {
  const holdsAll = (tools: string): boolean => read(`{"x":1,"tools":${tools},"y":[1]}`)!.holds === 1 << 1
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
