import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { type ListedEndpoint, inputSchema, list } from '#core/registry.ts'
import { notes } from '#test/mcp/notes.ts'
import { createCatalogue, forAgents } from './catalogue/catalogue.ts'
import { describe } from './tools/describe.ts'
import type { AgentCaller } from './tools/door.ts'
import { stemsOf } from './catalogue/words.ts'
import { instructions, tools } from './tools/tools.ts'

const listed: ListedEndpoint[] = list([...(await loadContracts()), notes])
const catalogue = createCatalogue(listed)
const best = (query: string): string[] =>
  catalogue
    .rank(query)
    .slice(0, 3)
    .map(({ name }) => name)

for (const [query, name] of [
  ['write a note', 'notes.create'],
  ['remove one note', 'notes.delete'],
  ['notes.list', 'notes.list'],
  ['notes_get', 'notes.get'],
  ['my profile', 'me.get'],
  ['my rate limit', 'me.limits'],
  ['change my theme', 'settings.update'],
  ['time zone', 'settings.update'],
  ['make an assistant', 'agents.create'],
  ['show all agents', 'agents.list'],
  ['undelete an agent', 'agents.restore'],
  ['wait for background work', 'operations.await'],
] as const)
  test(`"${query}" finds ${name} among the first three`, () =>
    assert.ok(best(query).includes(name), best(query).join(', ')))

test('unknown words find nothing', () => assert.deepEqual(best('zzz qqq'), []))

test('every endpoint is the first result for its own name', () => {
  for (const { name } of catalogue.cards) assert.equal(best(name)[0], name)
})

test('the ranking depends on neither list order nor time', () => {
  const turned = createCatalogue(listed.toReversed())
  for (const query of ['list', 'agent', 'delete for good', 'usage'])
    assert.deepEqual(
      turned.rank(query).map(({ name }) => name),
      catalogue.rank(query).map(({ name }) => name),
    )
})

test('endpoints for signed-in users only are excluded', () => {
  assert.equal(catalogue.get('api_keys.create'), null)
  assert.equal(catalogue.get('auth.sign_in'), null)
  assert.ok(catalogue.rank('create an api key').every(({ listed }) => forAgents(listed)))
})

test('names in openapi.json form are accepted', () => {
  assert.equal(catalogue.get('notes_create')?.name, 'notes.create')
})

test('inflected forms have the same stem', () => {
  for (const [a, b] of [
    ['files', 'file'],
    ['messages', 'message'],
    ['created', 'create'],
    ['running', 'run'],
    ['copies', 'copy'],
    ['memberId', 'member id'],
    ['re-opened', 'reopen'],
  ])
    assert.deepEqual(stemsOf(a!), stemsOf(b!))
})

test('every endpoint can be described with a valid example', () => {
  // Descriptions contain nothing else.
  const caller = { may: () => true } as unknown as AgentCaller
  for (const card of catalogue.cards) {
    const { input } = describe(card, caller).example as { input: unknown }
    const result = inputSchema(card.listed.endpoint).safeParse(input)
    assert.ok(result.success, `${card.name} ${JSON.stringify(input)} ${result.error?.message}`)
    assert.ok(card.arguments().length <= 402, card.name)
  }
})

test('the tool list is below 1,500 tokens', () => {
  const text = JSON.stringify({ tools, instructions })
  // An upper bound for any tokenizer: each word and punctuation mark is a token, and long words are several.
  const most = [...text.matchAll(/[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]/g)].length
  assert.ok(most < 1_500, `${most} tokens at most, ${text.length} characters`)
  assert.ok(text.length < 4_000, `${text.length} characters`)
})
