import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { wellFormedJson } from './well-formed.ts'

test('JSON that is sent is valid Unicode, in names too, and otherwise unchanged', () => {
  const text = fc.string({
    unit: fc.constantFrom('\ud83d', '\ude00', '😀', '\\', '\\ud83d', 'u', 'd', '"', '\n', 'é', 'x'),
  })
  fc.assert(
    fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text)), { maxKeys: 3 }), (value) => {
      const json = wellFormedJson(value)
      assert.ok(json.isWellFormed())
      const tidy = (value: unknown): unknown =>
        typeof value === 'string'
          ? value.toWellFormed()
          : Array.isArray(value)
            ? value.map(tidy)
            : Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name.toWellFormed(), tidy(one)]))
      assert.deepEqual(JSON.parse(json), JSON.parse(JSON.stringify(tidy(value))))
      assert.ok(!/\\ud[89a-f]/.test(json.replaceAll('\\\\', '')))
    }),
    { numRuns: 2_000 },
  )
})
