import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalPath } from './canonical.ts'

const ID = '01KAJ8R3T2M6QK5W9V0XBZC4DE'

test('an address with ids in lower case leads to the one with them as they are written elsewhere, and no other changes', () => {
  for (const path of ['/chats/ID', '/automations/ID/runs/ID', '/computers/ID/terminal', '/drive/f/ID']) {
    const right = path.replaceAll('ID', ID)
    assert.equal(canonicalPath(path.replaceAll('ID', ID.toLowerCase())), right)
    assert.equal(canonicalPath(right), right)
  }
  for (const path of ['/', '/chats', '/ai-routing/usage', '/settings/developer', `/x/${ID.toLowerCase()}0`, '/i/ilou'])
    assert.equal(canonicalPath(path), path)
})
