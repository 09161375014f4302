import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonText } from './json-text.ts'

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`)

test('the text of deeply nested JSON grows linearly with the value', () => {
  assert.equal(jsonText({ a: [1] }), '{\n  "a": [\n    1\n  ]\n}')
  assert.equal(jsonText('x'), '"x"')
  assert.equal(jsonText(undefined), '')
  assert.equal(jsonText(nested(1_000)), JSON.stringify(nested(1_000)))
  for (const depth of [5_000, 200_000]) assert.ok(jsonText(nested(depth)).length <= depth * 2 + 50)
})
