import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startKeeper } from '#test/computers/keeper.ts'
import { seatAt } from '#test/computers/seat.ts'
import { testServer } from '#test/server.ts'
import { exits } from '../exit.ts'

const program = fileURLToPath(new URL('../../../../bin/uk', import.meta.url))

test('missing fields are prompted for in a terminal, never in a pipe; a password is asked for once', async () => {
  await using server = await testServer()
  await using keeper = await startKeeper()
  const home = await mkdtemp(join(tmpdir(), 'uk-asked-'))
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const env = { PATH: process.env.PATH!, HOME: home, UK_KEY: key, UK_ORIGIN: server.origin }
  const sitting = (script: string) => seatAt(keeper.client, ['sh', '-c', script], { env, cwd: home })
  try {
    const making = await sitting(`${program} workspaces create`)
    await making.sees(/name: /)
    await making.type('Team\r')
    assert.equal(await making.exitCode(), 0)
    const { data: workspaces } = (await alice.get('/workspaces')).body
    assert.ok(workspaces.some(({ name }: { name: string }) => name === 'Team'))

    const leaving = await sitting(`${program} workspaces create`)
    await leaving.sees(/name: /)
    await leaving.type('\x03')
    assert.equal(await leaving.exitCode(), exits.interrupted[0])

    const piped = spawn(program, ['workspaces', 'create'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    assert.deepEqual(await once(piped, 'close'), [exits.usage[0], null])

    const keys = `${program} api-keys list --email ${alice.email}`
    const once5 = await sitting(`${keys} && echo first && ${keys} && echo second && ${program} logout && ${keys}`)
    await once5.sees(/Managing API keys requires your password\.[^]*Password: /)
    await once5.type(`${alice.password}\r`)
    const shown = await once5.sees(/second[^]*Password: /)
    assert.equal(shown.split('Password: ').length, 3, 'once for both commands, and anew after the logout')
    assert.match(shown, /first[^]*second/)
    await once5.type('\x03')
    assert.equal(await once5.exitCode(), exits.interrupted[0])
    const sessions = (await alice.get('/auth/sessions')).body.data
    assert.equal(sessions.length, 1, 'the session that was kept is signed out')
  } finally {
    await rm(home, { recursive: true })
  }
})
