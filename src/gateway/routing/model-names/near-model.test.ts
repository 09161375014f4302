import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nearModel } from './near-model.ts'

const listed = (names: readonly string[]) => names.toSorted().map((slug) => ({ slug }))
const names = listed([
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

for (const [asked, meant] of [
  ['openai/gpt-5-mimi', 'openai/gpt-5-mini'],
  ['openai/gpt5-mini', 'openai/gpt-5-mini'],
  ['OpenAI/GTP-5', 'openai/gpt-5'],
  ['opnai/gpt-5-mini', 'openai/gpt-5-mini'],
  ['gpt-5-mni', 'mine/gpt-5-mini'],
  ['sim/eco', 'sim/echo'],
  ['sim/eho', 'sim/echo'],
  ['cho', 'sim/echo'],
  // By its provider, by its date.
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
  test(`who asks for ${asked} means ${meant}`, () => assert.equal(nearModel(asked, names), meant))

test('a name that is like no model’s is not guessed at', () => {
  for (const asked of [
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
    assert.equal(nearModel(asked, names), null, asked)
  assert.equal(nearModel('gpt-5', []), null)
})

/** Pairs of letters that it would compare if nothing stopped it. */
const workOf = (asked: string, many: readonly string[]): number => {
  const work = { left: 1e9 }
  nearModel(asked, listed(many), work)
  return 1e9 - work.left
}

test('however names are chosen, little is compared', () => {
  const each = (of: (i: string) => string) => Array.from({ length: 3_000 }, (_, i) => of(String(i).padStart(4, '0')))
  // Near by themselves, and their whole names all equally far.
  const tied = each((i) => `mine/${'p'.repeat(136)}${i}/${'a'.repeat(54)}`)
  const alike = each((i) => `mine/${'ab'.repeat(45)}${i}`)
  for (const [asked, many] of [
    [`${'q'.repeat(45)}/${'a'.repeat(54)}`, tied],
    [`mine/${'ba'.repeat(45)}0123`, alike],
  ] as const) {
    assert.ok(workOf(asked, many) > 500_000, asked)
    const work = { left: 500_000 }
    nearModel(asked, listed(many), work)
    assert.ok(work.left > -250, asked)
    const at = process.cpuUsage()
    for (let i = 0; i < 50; i++) nearModel(asked, listed(many))
    assert.ok(process.cpuUsage(at).user < 5_000_000, asked)
  }
  assert.equal(workOf('ab'.repeat(4_000_000), alike), 0)
  // Names with other letters are passed over.
  assert.equal(
    workOf(
      'openai/gpt-5-mimi',
      each((i) => `openai/xyz-${i}-k`),
    ),
    0,
  )
})

test('of a list that is too long, what stands near is looked at', () => {
  const many = Array.from({ length: 50_000 }, (_, i) => `mine/model-${i}`)
  assert.equal(nearModel('vendor/large-on', listed([...many, 'vendor/large-one'])), 'vendor/large-one')
  assert.equal(nearModel('azure/large-on', listed([...many, 'azure/large-one'])), 'azure/large-one')
})

test('a letter too many, too few, wrong or misplaced leads back to the only name', () => {
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
        assert.equal(nearModel(wrong[how]!, listed([`vendor/${name}`])), `vendor/${name}`)
      },
    ),
  )
})
