import assert from 'node:assert/strict'
import { test } from 'node:test'
import { globFor, piecesOf } from './find.ts'

const drawn = (line: string, words: string | null): string =>
  piecesOf(line, words)
    .map(({ text, hit }) => (hit ? `[${text}]` : text))
    .join('')

test('what was found in a line is marked, with case where the words have a capital', () => {
  assert.equal(drawn('View of the view', 'view'), '[View] of the [view]')
  assert.equal(drawn('View of the view', 'View'), '[View] of the view')
  assert.equal(drawn('nothing of it', null), 'nothing of it')
  assert.ok(drawn(`${'x'.repeat(5_000)}here`, 'here').endsWith('[here]'))
})

test('signs of globs in a name that is searched for are letters', () => {
  assert.equal(globFor('a*b [1]'), '*a\\*b \\[1\\]*')
})
