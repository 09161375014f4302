// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Program, signalAll, startProgram, temporaryDir } from '../program.ts'
import { caller } from '../server.ts'

const ROUNDS = 4
const WRITERS = 8

test('a process tree killed at any moment restarts with everything it acknowledged', async () => {
  using dir = temporaryDir()
  const environment = { UK_DATA_DIR: dir.path, UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0' }
  const acknowledged = new Set<string>()
  let cookie = ''
  for (let round = 0; round < ROUNDS; round++) {
    const program = startProgram(environment)
    const origin = await program.ready
    if (cookie === '') {
      const signUp = { email: 'alice@example.com', password: 'a long password', name: 'Alice' }
      cookie = (await caller(origin, { 'x-uk-csrf': '1' }).post('/auth/sign-up', signUp)).headers
        .get('set-cookie')!
        .split(';')[0]!
    }
    const alice = caller(origin, { cookie, 'x-uk-csrf': '1' })
    for (const id of acknowledged)
      assert.equal((await alice.get(`/agents/${id}`)).status, 200, `agent ${id} after ${round} kills`)
    const writers = Array.from({ length: WRITERS }, async () => {
      for (;;) {
        const answer = await alice.post('/agents', { name: 'Written under fire' })
        assert.equal(answer.status, 201)
        acknowledged.add(answer.body.data.id)
      }
    })
    const writing = Promise.allSettled(writers)
    const enough = acknowledged.size + 40 + Math.floor(Math.random() * 80)
    while (acknowledged.size < enough) await new Promise((resolve) => setTimeout(resolve, 2))
    killTree(program, dir.path)
    await program.exited
    await writing
  }
  await using program = startProgram(environment)
  const alice = caller(await program.ready, { cookie })
  for (const id of acknowledged) assert.equal((await alice.get(`/agents/${id}`)).status, 200)
  assert.ok(acknowledged.size > ROUNDS * 40)
})

/** The server and every process of its database, at once and without warning. */
function killTree({ child }: Program, dataDir: string): void {
  const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
  const backends = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => parentOf(pid) === postmaster)
    .map(Number)
  signalAll([child.pid!, postmaster, ...backends], 'SIGKILL')
}

function parentOf(pid: string): number | null {
  try {
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')[1],
    )
  } catch {
    return null
  }
}
