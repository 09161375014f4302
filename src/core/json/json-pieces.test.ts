import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonPieces } from './json-pieces.ts'

const piecesOf = (value: object, size?: number): string[] => [...jsonPieces(value, size)]

test('joined pieces equal the output of JSON.stringify for any value and size', () => {
  const leaf = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', 'a', '"', '\\', '\n', '\u2028'), maxLength: 60 }),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, undefined, -0, () => 1, Symbol('s'), new Date(0), { toJSON: () => 'own' }, new Map([[1, 2]])),
  )
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 8, withCrossShrink: true },
      leaf,
      fc.array(tie('tree'), { maxLength: 6 }),
      fc.dictionary(fc.string({ maxLength: 8 }), tie('tree'), { maxKeys: 6 }),
    ),
  }))
  fc.assert(
    fc.property(tree, fc.integer({ min: 1, max: 50 }), (value, size) => {
      const whole = { data: value, list: [value, value] }
      assert.equal(piecesOf(whole, size).join(''), JSON.stringify(whole))
    }),
    { numRuns: 200 },
  )
})

test('pieces stay close to their maximum size for long strings, lists and objects', () => {
  const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`name${n}`, n]))
  for (const value of [
    { text: 'x'.repeat(4 << 20) },
    [wide],
    { list: Array(300_000).fill(1) },
    { text: '\n'.repeat(2 << 20) },
  ]) {
    const pieces = piecesOf(value)
    assert.ok(pieces.length > 1)
    assert.ok(Math.max(...pieces.map((piece) => piece.length)) <= 3 * (256 << 10))
    assert.equal(pieces.join(''), JSON.stringify(value))
  }
})
