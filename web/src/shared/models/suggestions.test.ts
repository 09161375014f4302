import assert from 'node:assert/strict'
import { test } from 'node:test'
import { suggestionsFor } from './suggestions.ts'

test('a model name served by two providers is suggested once, before the models of each provider', () => {
  const of = (slug: string) => ({ slug, name: 'GPT', provider: slug.split('/')[0]! })
  const named = suggestionsFor([of('openai/gpt-4o'), of('second/gpt-4o'), of('openai/o4-mini')])
  assert.deepEqual(
    named.map(({ name }) => name),
    ['gpt-4o', 'openai/gpt-4o', 'second/gpt-4o', 'openai/o4-mini'],
  )
  assert.equal(named[0]!.about, 'any of openai, second')
})
