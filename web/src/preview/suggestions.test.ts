import assert from 'node:assert/strict'
import { test } from 'node:test'
import { suggestionsFor } from './suggestions.ts'

test('a name that two providers serve is suggested by itself, before the models of each', () => {
  const of = (slug: string) => ({ slug, name: 'GPT', provider: slug.split('/')[0]! })
  const named = suggestionsFor([of('openai/gpt-4o'), of('second/gpt-4o'), of('openai/o4-mini')])
  assert.deepEqual(
    named.map(({ name }) => name),
    ['gpt-4o', 'openai/gpt-4o', 'second/gpt-4o', 'openai/o4-mini'],
  )
  assert.equal(named[0]!.about, 'whoever of openai, second')
})
