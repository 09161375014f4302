import assert from 'node:assert/strict'
import { test } from 'node:test'
import { globFor, piecesOf } from './find.ts'

const drawn = (line: string, words: string | null): string =>
  piecesOf(line, words)
    .map(({ text, hit }) => (hit ? `[${text}]` : text))
    .join('')

test('matches are highlighted, and case matters only if the query has a capital letter', () => {
  assert.equal(drawn('View of the view', 'view'), '[View] of the [view]')
  assert.equal(drawn('View of the view', 'View'), '[View] of the view')
  assert.equal(drawn('nothing of it', null), 'nothing of it')
  assert.ok(drawn(`${'x'.repeat(5_000)}here`, 'here').endsWith('[here]'))
})

test('glob characters in the query are treated literally', () => {
  assert.equal(globFor('a*b [1]'), '*a\\*b \\[1\\]*')
})
