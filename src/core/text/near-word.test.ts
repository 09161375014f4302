import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearWord } from './near-word.ts'

test('the nearest word has an added, missing, wrong or swapped letter, and distant words aren’t suggested', () => {
  const fields = ['title', 'model', 'workspace_id', 'instructions', 'tools', 'name', 'id']
  for (const [input, target] of [
    ['titel', 'title'],
    ['Title', 'title'],
    ['nmae', 'name'],
    ['workspaceId', 'workspace_id'],
    ['workspce_id', 'workspace_id'],
    ['instruction', 'instructions'],
    ['tool', 'tools'],
    ['colour', null],
    ['xx', null],
    ['', null],
    ['t'.repeat(1_000_000), null],
  ] as const)
    assert.equal(nearWord(input, fields), target, input.slice(0, 20))
})
