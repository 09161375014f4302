import assert from 'node:assert/strict'
import { test } from 'node:test'
import { templates } from '../templates.ts'
import { everyTool } from './every-tool.ts'
import { missingGrants, otherTools, policyOfGroup, toolGroups, withPolicy } from './tool-groups.ts'

const web = toolGroups.find(({ name }) => name === 'Web')!
const names = web.tools.map(({ name }) => name)

test('a group shows the policy shared by its tools, and changing it keeps the order of other tools', () => {
  const tools = withPolicy([{ name: 'find', policy: 'allow' }], names, 'ask')
  assert.deepEqual(
    tools.map(({ name, policy }) => `${name} ${policy}`),
    ['find allow', 'web.search ask', 'web.fetch ask'],
  )
  assert.equal(policyOfGroup(tools, web), 'ask')
  const mixed = withPolicy(tools, ['web.search'], 'deny')
  assert.equal(policyOfGroup(mixed, web), 'mixed')
  assert.equal(mixed[1]!.name, 'web.search')
  assert.deepEqual(withPolicy(mixed, names, 'off'), [{ name: 'find', policy: 'allow' }])
  assert.equal(policyOfGroup([], web), 'off')
  assert.deepEqual(otherTools(tools), [{ name: 'find', policy: 'allow' }])
})

test('missing computer permissions are listed once, and not for unused tools', () => {
  const tools = [
    { name: 'computers.exec', policy: 'ask' as const },
    { name: 'computers.fs', policy: 'allow' as const },
    { name: 'computers.download', policy: 'allow' as const },
    { name: 'computers.terminal', policy: 'deny' as const },
  ]
  assert.deepEqual(missingGrants(tools, []), ['run commands', 'read files'])
  assert.deepEqual(missingGrants(tools, [['exec'], ['fs_read', 'ports']]), [])
})

test('every listed tool exists', async () => {
  const every = new Set(await everyTool())
  const offered = [...toolGroups, ...templates].flatMap(({ tools }) => tools.map(({ name }) => name))
  assert.deepEqual(
    offered.filter((name) => !every.has(name)),
    [],
  )
})
