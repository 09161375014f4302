import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { temporaryDir } from '../program.ts'
import { testServer } from '../server.ts'
import { program, ranBy } from './uk.ts'

test('control characters in a workspace’s name don’t reach the terminal', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  using dir = temporaryDir()
  const env = { PATH: process.env.PATH!, HOME: dir.path, UK_KEY: key, UK_ORIGIN: server.origin }
  const made = await alice.post('/workspaces', { name: 'Team\x1b]0;another title\x07\x1b[2J' })
  assert.equal(made.status, 201, made.text)
  const chosen = await ranBy(spawn(program, ['workspaces', 'use', made.body.data.id], { env }), '')
  assert.equal(chosen.code, 0, chosen.err)
  assert.match(chosen.err, /Commands now use the workspace Team/)
  assert.doesNotMatch(chosen.err, /[^\P{Cc}\n]/u)
})
