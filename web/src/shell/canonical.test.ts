import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalPath, canonicalSearch } from './canonical.ts'

const ID = '01KAJ8R3T2M6QK5W9V0XBZC4DE'

test('addresses with lowercase IDs redirect to uppercase IDs, and other addresses stay unchanged', () => {
  for (const path of ['/chats/ID', '/automations/ID/runs/ID', '/computers/ID/terminal', '/drive/f/ID']) {
    const right = path.replaceAll('ID', ID)
    assert.equal(canonicalPath(path.replaceAll('ID', ID.toLowerCase())), right)
    assert.equal(canonicalPath(right), right)
  }
  for (const path of ['/', '/chats', '/ai-routing/usage', '/settings/developer', `/x/${ID.toLowerCase()}0`, '/i/ilou'])
    assert.equal(canonicalPath(path), path)
})

test('IDs in search parameters become uppercase, also in lists, and search words stay as typed', () => {
  const low = ID.toLowerCase()
  assert.deepEqual(canonicalSearch({ workspace: low, new: low, days: 7, types: [low, 'chat'], status: 'archived' }), {
    workspace: ID,
    new: ID,
    days: 7,
    types: [ID, 'chat'],
    status: 'archived',
  })
  for (const search of [{}, { whose: 'mine', workspace: ID }, { q: low, path: low, model: low, provider: low }])
    assert.equal(canonicalSearch(search), search)
})
