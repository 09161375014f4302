import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mismatch } from './answer-schema.ts'

const many = <T>(n: number, one: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => one(i))

/** Schemas of roughly this size, each with a mismatched answer. */
const kinds: Readonly<Record<string, (size: number) => [schema: Record<string, unknown>, answer: unknown]>> = {
  properties: (size) => [
    { properties: Object.fromEntries(many(size, (i) => [`p${i}`, { type: 'string' }])), type: 'object' },
    [],
  ],
  'required names': (size) => [{ type: 'object', properties: { p0: {} }, required: many(size, (i) => `p${i}`) }, {}],
  values: (size) => [{ type: 'string', enum: many(size, (i) => `v${i}`) }, 'other'],
  choices: (size) => [
    {
      anyOf: many(size, (i) => ({
        type: 'object',
        properties: { [`p${i}`]: { type: 'number' } },
        required: [`p${i}`],
      })),
    },
    {},
  ],
  'elements of choices': (size) => [
    { type: 'array', items: { anyOf: many(size, () => ({ type: 'number' })) } },
    many(50, () => 'x'),
  ],
  'references to references': (size) => {
    const depth = Math.ceil(Math.log2(size))
    const level = (i: number) => ({ allOf: [{ $ref: `#/$defs/l${i}` }, { $ref: `#/$defs/l${i}` }] })
    return [
      {
        ...level(0),
        $defs: Object.fromEntries([...many(depth, (i) => [`l${i}`, level(i + 1)]), [`l${depth}`, { type: 'string' }]]),
      },
      1,
    ]
  },
}

for (const [kind, make] of Object.entries(kinds)) {
  test(`answers are checked against a schema with a few ${kind}`, () => {
    const [schema, answer] = make(4)
    assert.match(mismatch(schema, JSON.stringify(answer)) ?? 'it matches', /must|required|is not valid/)
  })

  test(`schemas with very many ${kind} are left to the provider`, () => {
    for (const size of [5_000, 60_000]) {
      const [schema, answer] = make(size)
      assert.equal(mismatch(schema, JSON.stringify(answer)), null)
    }
  })
}

test('checking a long answer takes bounded work', () => {
  const row = {
    type: 'object',
    properties: { name: { type: 'string' }, size: { type: 'number' } },
    required: ['name', 'size'],
  }
  const rows = (n: number) => JSON.stringify(many(n, (i) => ({ name: `n${i}`, size: i })))
  const schema = { type: 'array', items: row }
  assert.equal(mismatch(schema, rows(1_000)), null)
  assert.match(
    mismatch(schema, rows(1_000).replace('"size":999', '"size":null')) ?? 'it matches',
    /`999.size` must be a number/,
  )
})
