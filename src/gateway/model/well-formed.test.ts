import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { wellFormedJson } from './well-formed.ts'

test('JSON that is sent is valid Unicode, in names too, and says the same otherwise', () => {
  const text = fc.string({
    unit: fc.constantFrom('\ud83d', '\ude00', '😀', '\\', '\\ud83d', 'u', 'd', '"', '\n', 'é', 'x'),
  })
  fc.assert(
    fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text)), { maxKeys: 3 }), (value) => {
      const written = wellFormedJson(value)
      assert.ok(written.isWellFormed())
      const tidy = (given: unknown): unknown =>
        typeof given === 'string'
          ? given.toWellFormed()
          : Array.isArray(given)
            ? given.map(tidy)
            : Object.fromEntries(Object.entries(given as object).map(([name, one]) => [name.toWellFormed(), tidy(one)]))
      assert.deepEqual(JSON.parse(written), JSON.parse(JSON.stringify(tidy(value))))
      assert.ok(!/\\ud[89a-f]/.test(written.replaceAll('\\\\', '')))
    }),
    { numRuns: 2_000 },
  )
})
