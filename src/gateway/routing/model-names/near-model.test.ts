import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nearModel } from './near-model.ts'

const namesOf = (names: readonly string[]) => names.toSorted().map((slug) => ({ slug }))
const names = namesOf([
  'anthropic/claude-opus-4-5',
  'anthropic/claude-sonnet-4-5-20250929',
  'mine/gpt-5-mini',
  'mistral/mistral-large-2411',
  'openai/gpt-4o-2024-05-13',
  'openai/gpt-4o-2024-08-06',
  'openai/gpt-5',
  'openai/gpt-5-mini',
  'openai/o3',
  'openrouter/meta-llama/llama-3.3-70b-instruct',
  'sim/echo',
])

for (const [requested, expected] of [
  ['openai/gpt-5-mimi', 'openai/gpt-5-mini'],
  ['openai/gpt5-mini', 'openai/gpt-5-mini'],
  ['OpenAI/GTP-5', 'openai/gpt-5'],
  ['opnai/gpt-5-mini', 'openai/gpt-5-mini'],
  ['gpt-5-mni', 'mine/gpt-5-mini'],
  ['sim/eco', 'sim/echo'],
  ['sim/eho', 'sim/echo'],
  ['cho', 'sim/echo'],
  // Differ by provider, by date.
  ['azure/gpt-5', 'openai/gpt-5'],
  ['azure/o3', 'openai/o3'],
  ['openai/gpt-4o-2024-08-07', 'openai/gpt-4o-2024-08-06'],
  ['openai/gpt-4o-latest', 'openai/gpt-4o-2024-05-13'],
  ['anthropic/claude-sonet-4.5', 'anthropic/claude-sonnet-4-5-20250929'],
  ['claude-sonnet-4-5@20240101', 'anthropic/claude-sonnet-4-5-20250929'],
  ['mistral-large', 'mistral/mistral-large-2411'],
  ['meta-llama/llama-3-3-70b-instruct', 'openrouter/meta-llama/llama-3.3-70b-instruct'],
  ['openai/gpt-5-mimi:nitro', 'openai/gpt-5-mini'],
] as const)
  test(`${requested} suggests ${expected}`, () => assert.equal(nearModel(requested, names), expected))

test('a name that resembles no model gets no suggestion', () => {
  for (const requested of [
    '',
    '/',
    'o4',
    'x',
    'ec',
    'eco8',
    'text-embedding-3-large',
    'openai/',
    'gemini-2.5-pro',
    'x'.repeat(40),
  ])
    assert.equal(nearModel(requested, names), null, requested)
  assert.equal(nearModel('gpt-5', []), null)
})

/** Pairs of letters that would be compared without the limit. */
const workOf = (requested: string, many: readonly string[]): number => {
  const work = { left: 1e9 }
  nearModel(requested, namesOf(many), work)
  return 1e9 - work.left
}

test('the work is limited, however names are chosen', () => {
  const each = (of: (i: string) => string) => Array.from({ length: 3_000 }, (_, i) => of(String(i).padStart(4, '0')))
  // All bare names are near, and all whole names equally far.
  const equallyFar = each((i) => `mine/${'p'.repeat(136)}${i}/${'a'.repeat(54)}`)
  const alike = each((i) => `mine/${'ab'.repeat(45)}${i}`)
  for (const [requested, many] of [
    [`${'q'.repeat(45)}/${'a'.repeat(54)}`, equallyFar],
    [`mine/${'ba'.repeat(45)}0123`, alike],
  ] as const) {
    assert.ok(workOf(requested, many) > 500_000, requested)
    const work = { left: 500_000 }
    nearModel(requested, namesOf(many), work)
    assert.ok(work.left > -250, requested)
    const at = process.cpuUsage()
    for (let i = 0; i < 50; i++) nearModel(requested, namesOf(many))
    assert.ok(process.cpuUsage(at).user < 5_000_000, requested)
  }
  assert.equal(workOf('ab'.repeat(4_000_000), alike), 0)
  // Names with other letters are skipped.
  assert.equal(
    workOf(
      'openai/gpt-5-mimi',
      each((i) => `openai/xyz-${i}-k`),
    ),
    0,
  )
})

test('in a list that is too long, names near the sorted position are compared', () => {
  const many = Array.from({ length: 50_000 }, (_, i) => `mine/model-${i}`)
  assert.equal(nearModel('vendor/large-on', namesOf([...many, 'vendor/large-one'])), 'vendor/large-one')
  assert.equal(nearModel('azure/large-on', namesOf([...many, 'azure/large-one'])), 'azure/large-one')
})

test('an extra, missing, wrong, or swapped letter leads back to the only name', () => {
  const letter = fc.constantFrom(...'abcdefgh-5')
  fc.assert(
    fc.property(
      fc.string({ unit: letter, minLength: 8, maxLength: 60 }),
      fc.nat(),
      letter,
      fc.constantFrom(0, 1, 2, 3),
      (name, at, other, how) => {
        const i = at % (name.length - 1)
        const [head, one, two, tail] = [name.slice(0, i), name[i]!, name[i + 1]!, name.slice(i + 2)]
        const wrong = [
          head + two + tail,
          head + one + other + two + tail,
          head + other + two + tail,
          head + two + one + tail,
        ]
        assert.equal(nearModel(wrong[how]!, namesOf([`vendor/${name}`])), `vendor/${name}`)
      },
    ),
  )
})
