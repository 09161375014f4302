import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { daemonHome, continueDaemon } from '#test/link/run-daemon.ts'
import { type StartedDaemon, startDaemon } from '#test/link/start-daemon.ts'
import { type Person, testServer } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

const SECRET = 'sk-of-whoever-started-it'
/** Environment of a user whose shell has keys when they start a daemon. */
const shell = [
  'env',
  ...['OPENAI_API_KEY', 'AWS_SECRET_ACCESS_KEY', 'UK_KEY', 'NODE_AUTH_TOKEN', 'SSH_AUTH_SOCK', 'LD_AUDIT_OF_MINE'].map(
    (name) => `${name}=${SECRET}`,
  ),
  'LC_TIME=C',
  'TZ=Pacific/Apia',
]

const server = await testServer()
after(() => server[Symbol.asyncDispose]())
const home = daemonHome()
after(() => home[Symbol.asyncDispose]())
let alice: Person
let daemon: StartedDaemon
before(async () => {
  alice = await server.person('Alice')
  daemon = await startDaemon(home, server.origin, alice, [], shell)
})
after(() => daemon[Symbol.asyncDispose]())

const variables = (text: string): Record<string, string> =>
  Object.fromEntries(text.split(/\r?\n/).flatMap((line) => (line.includes('=') ? [line.split(/=(.*)/s, 2)] : [])))
const namesOf = (text: string): string[] => Object.keys(variables(text)).toSorted()
const LOGIN = ['HOME', 'LC_TIME', 'LOGNAME', 'PATH', 'SHELL', 'TZ', 'UK_RUN_ID', 'USER']

async function ofCommand(): Promise<string> {
  const { status, body, text } = await alice.post(`/computers/${daemon.id}/exec`, { argv: ['env'] })
  assert.equal(status, 200, text)
  return body.data.stdout
}

async function ofTerminal(): Promise<string> {
  const ask = async (body: object) => (await alice.post(`/computers/${daemon.id}/terminal`, body)).body.data
  const { terminal_id } = await ask({ action: 'open', argv: ['env'] })
  await until(
    async () => (await ask({ action: 'list' })).find((one: any) => one.terminal_id === terminal_id).status,
    (status) => status === 'ended',
  )
  return (await ask({ action: 'read', terminal_id })).data
}

async function ofKeeper(): Promise<string> {
  const { pid } = (await home.keeper().find())!
  return readFileSync(`/proc/${pid}/environ`, 'latin1')
}

async function nothingLeaks(): Promise<void> {
  assert.deepEqual(namesOf(await ofCommand()), LOGIN)
  assert.deepEqual(namesOf(await ofTerminal()), [...LOGIN, 'COLORTERM', 'PWD', 'TERM'].toSorted())
  for (const name of ['OPENAI_API_KEY', 'AWS_SECRET', 'UK_KEY', 'SSH_AUTH_SOCK', 'LD_AUDIT'])
    assert.ok(!(await ofKeeper()).includes(name), name)
}

test('commands and terminals get a login environment without the daemon’s keys', async () => {
  await nothingLeaks()
  const { LC_TIME, TZ, HOME, SHELL } = variables(await ofCommand())
  assert.deepEqual([LC_TIME, TZ, HOME], ['C', 'Pacific/Apia', home.folder])
  assert.match(SHELL!, /^\//)
  const options = { argv: ['env'], env: { OPENAI_API_KEY: 'mine', WORD: 'a b', TZ: 'UTC' } }
  const { body } = await alice.post(`/computers/${daemon.id}/exec`, options)
  const own = variables(body.data.stdout)
  assert.deepEqual([own['OPENAI_API_KEY'], own['WORD'], own['TZ']], ['mine', 'a b', 'UTC'])
})

test('the environment stays clean after the keeper is killed or replaced and the daemon restarts', async () => {
  const { pid } = (await home.keeper().find())!
  process.kill(pid, 'SIGKILL')
  await until(
    async () => (await home.keeper().find())?.pid,
    (now) => now !== pid,
  )
  await until(
    async () => (await alice.post(`/computers/${daemon.id}/exec`, { argv: ['true'] })).status,
    (status) => status === 200,
  )
  await nothingLeaks()
  await daemon[Symbol.asyncDispose]()
  await using _ = continueDaemon(home)
  assert.ok(await server.app.engine.links.online(daemon.id, PATIENCE_MS))
  assert.deepEqual(namesOf(await ofCommand()), LOGIN)
  await home.keeper().replace()
  await nothingLeaks()
})
