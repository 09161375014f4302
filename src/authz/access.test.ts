import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Access, inWorkspace, requiredShare, resource, session } from '#core/access.ts'

test('contradictory access rules don’t compile', () => {
  const rules: Access[] = [
    // @ts-expect-error Only computers have capabilities.
    resource('chat', { scope: 'chat:read', capability: 'exec' }),
    // @ts-expect-error Automations can't be shared.
    resource('automation', { scope: 'automation:read', share: 'edit' }),
    // @ts-expect-error A workspace rule has no share.
    inWorkspace('chat:write', 'member', 'edit'),
    // @ts-expect-error Sessions have no scopes.
    session('chat:read'),
    // @ts-expect-error A kind has only its own fields.
    { kind: 'open', scope: 'chat:read' },
  ]
  assert.equal(rules.length, 5)
})

test('a share suffices for reads, unless the rule requires a role or another share', () => {
  const shareFor = (access: Access) => (access.kind === 'resource' ? requiredShare(access) : null)
  assert.equal(shareFor(resource('chat', { scope: 'chat:read' })), 'view')
  assert.equal(shareFor(resource('chat', { scope: 'chat:write' })), 'none')
  assert.equal(shareFor(resource('chat', { scope: 'chat:write', resourceScope: 'chat:read' })), 'view')
  assert.equal(shareFor(resource('chat', { scope: 'chat:read', role: 'admin' })), 'none')
  assert.equal(shareFor(resource('chat', { scope: 'chat:write', share: 'edit' })), 'edit')
})
