import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { Refusal } from '#core/errors.ts'
import { readBody } from '../model/body.ts'
import { scanBody } from '../scan-body.ts'
import { judgedNames, ownData, ownNames } from './judged-names.ts'
import { refuseTwins, twinOf } from './twins.ts'

/** Returns the field that a body is refused for, or null. `isScanned`: through the scan, as for most bodies. */
function refusedField(text: string, isScanned: boolean): string | null {
  try {
    refuseTwins(readBody(Buffer.from(text), isScanned ? scanBody : null))
    return null
  } catch (error) {
    if (error instanceof Refusal) return error.param ?? ''
    throw error
  }
}

/** Returns every spelling that parsers like Go's encoding/json take for the name, with one letter changed. */
function spellings(name: string): string[] {
  const others: Record<string, string> = { s: '\u017f', k: '\u212a' }
  return [...name].flatMap((letter, i) => {
    const withLetter = (other: string): string => name.slice(0, i) + other + name.slice(i + 1)
    const otherCase = letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()
    const odd = others[letter.toLowerCase()]
    return [...(otherCase === letter ? [] : [withLetter(otherCase)]), ...(odd === undefined ? [] : [withLetter(odd)])]
  })
}

/** Writes the names of a JSON text with escapes. */
const escapeNames = (text: string): string =>
  text.replaceAll(/[^\0-\x7f]|[A-Z]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

const places: [path: string, around: (member: string) => string][] = [
  ['', (member) => `{"model":"m",${member}}`],
  ['messages.0.', (member) => `{"model":"m","messages":[{"role":"user",${member}}]}`],
  ['messages.0.content.1.source.', (m) => `{"messages":[{"content":[{"type":"text"},{"source":{${m}}}]}]}`],
  ['provider.', (member) => `{"model":"m","provider":{${member}}}`],
  ['tools.0.', (member) => `{"tools":[{"type":"function","function":{},${member}}]}`],
  ['requests.0.body.', (member) => `{"requests":[{"body":{${member}}}]}`],
  ['prompt.variables.x.', (member) => `{"prompt":{"variables":{"x":{${member}}}}}`],
]

test('a checked name in different case is refused at every depth and in every spelling', () => {
  for (const name of judgedNames)
    for (const other of [...spellings(name), name.toUpperCase()]) {
      if (judgedNames.has(other) || other === name) continue
      for (const [path, around] of places) {
        const text = around(`${JSON.stringify(other)}:1`)
        for (const one of [text, escapeNames(text), JSON.stringify(JSON.parse(text), null, 2)])
          for (const isScanned of [true, false]) assert.equal(refusedField(one, isScanned), path + other, one)
      }
    }
})

test('names chosen by the user are allowed in any case, and checked names are allowed everywhere', () => {
  const own = [...new Set([...judgedNames].map((name) => name.toUpperCase()))].map((name) => `"${name}":1`).join()
  const same = [...judgedNames].map((name) => `${JSON.stringify(name)}:1`).join()
  for (const name of [...ownData, ...ownNames, 'input'])
    for (const isScanned of [true, false]) {
      assert.equal(
        refusedField(`{"messages":[{"content":[{"${name}":{${own},"a":{"N":1}}}]}]}`, isScanned),
        ownNames.has(name) ? `messages.0.content.0.${name}.a.N` : null,
      )
      assert.equal(refusedField(`{"messages":[{"content":[{"${name}":{${own}}}]}]}`, isScanned), null, name)
    }
  for (const isScanned of [true, false])
    assert.equal(refusedField(`{"a":{${same}},${same.replace('"type":1,', '')}}`, isScanned), null)
  for (const name of ['Modell', 'mode', 'Max-Tokens', 'maxTokenſ ', 'Größe', 'naïve', 'N ', ''])
    assert.equal(twinOf(name), null)
})

test('a name set twice in one object is refused at every depth, except in the user’s own data', () => {
  const twice = '"a":1,"b":{},"a":2'
  for (const [path, around] of places)
    for (const isScanned of [true, false]) {
      assert.equal(refusedField(around(twice), isScanned), `${path}a`)
      assert.equal(refusedField(around('"a":1,"\\u0061":2'), isScanned), `${path}a`)
      assert.equal(refusedField(around('"a":{"b":1,"c":[{"b":1},{"b":1}]},"b":1'), isScanned), null)
      assert.equal(refusedField(around('"metadata":{"a":1,"a":2}'), isScanned), null)
    }
  const many = Array.from({ length: 300 }, (_, n) => `"x${n}":{"x${n}":1}`).join()
  for (const isScanned of [true, false]) {
    assert.equal(refusedField(`{"a":[{${many}}]}`, isScanned), null)
    assert.equal(refusedField(`{"a":[{${many},"x7":1}]}`, isScanned), 'a.0.x7')
  }
})

test('the scan and the full walk refuse the same bodies', () => {
  const word = fc.constantFrom(
    ...[...judgedNames].slice(0, 12),
    ...'Model n N file_id File_ID type Type a b c é ſtream metadata input parameters variables'.split(' '),
  )
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('1', 'null', '"Model"', '"é"'),
      fc.array(tie('tree') as fc.Arbitrary<string>, { maxLength: 3 }).map((items) => `[${items.join()}]`),
      fc
        .array(fc.tuple(word, tie('tree') as fc.Arbitrary<string>), { maxLength: 6 })
        .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`),
    ),
  }))
  const object = fc.array(fc.tuple(word, tree), { maxLength: 6 })
  fc.assert(
    fc.property(object, fc.boolean(), (members, odd) => {
      const text = `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`
      const spelling = odd ? escapeNames(text) : text
      assert.equal(refusedField(spelling, true), refusedField(spelling, false), spelling)
    }),
    { numRuns: 3_000 },
  )
})

test('ordinary conversations with tools skip the full walk', () => {
  const text = JSON.stringify({
    model: 'm',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Model ſ é \u212a' }] },
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'F', arguments: '{"N":1}' } }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: { Model: 1, größe: 2 } }] },
      { role: 'tool', tool_call_id: 'c', content: 'done' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { properties: { Model: {}, Größe: {}, N: {} } } } }],
    metadata: { Model: 'x' },
  })
  assert.equal(readBody(Buffer.from(text), scanBody).mayHoldTwins, false)
})

/** Modules that decide about a call by fields of its body, and how they access them. */
const judges = [
  'call/**/*.ts',
  'passthrough/*.ts',
  'routing/*.ts',
  'stored-references/*.ts',
  'surfaces/*/*.ts',
  'mount.ts',
]
const reads = /(?:\b(?:body|\w+Body|adapted)\.(?:value|has|holdsItems)|\bfield)\('(\w+)'\)|\bjson\['(\w+)'\]/g
/** Fields without an effect on these decisions; in the second line, fields of answers. */
const harmless = new Set(
  `cache_control content encoding_format session_id tool_choice
  choices content_block data error index item output output_index response system_fingerprint usage`.split(/\s+/),
)

test('every field the code reads to decide about a call is checked', () => {
  const root = new URL('..', import.meta.url).pathname
  const names = new Set<string>()
  for (const file of globSync(judges, { cwd: root }))
    if (!file.endsWith('.test.ts'))
      for (const [, a, b] of readFileSync(`${root}/${file}`, 'utf8').matchAll(reads)) names.add((a ?? b)!)
  assert.ok(names.has('model') && names.has('plugins') && names.has('prompt'), [...names].join())
  assert.deepEqual(
    [...names].filter((name) => !judgedNames.has(name) && !harmless.has(name)),
    [],
  )
})
