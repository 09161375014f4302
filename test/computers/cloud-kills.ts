import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { openHost } from '#modules/computers/drivers/host.ts'
import { run } from '#modules/computers/drivers/run.ts'
import { databaseUrl, testDatabase } from '../database.ts'
import { needs } from '../needs.ts'
import { type Program, startProgram } from '../program.ts'
import { type Caller, caller } from '../server.ts'
import { until } from '../until.ts'
import { cloudsOf, processesWith } from './cloud.ts'
import { type Podman, ask, podmanHere, startPodman } from './podman.ts'

const IMAGE = 'localhost/small:1'
const PROGRAMS = 'sh bash cat chmod head id ls mkfifo rm sha256sum sleep sync touch'
const bubbles = (await run(['bwrap', '--version'])).code === 0
const podman: Podman | null = podmanHere() ? await startPodman() : null
await podman?.image(IMAGE, PROGRAMS.split(' '))
const DRIVERS = [...(bubbles ? ['bubblewrap'] : []), ...(podman ? ['docker'] : [])]
const somewhere = needs(DRIVERS.length > 0, 'bubblewrap, or podman and root')

const database = await testDatabase()
const pool = new pg.Pool({ ...database.connection, max: 2 })
const environment = {
  UK_DATA_DIR: database.dataDir,
  DATABASE_URL: databaseUrl(database),
  UK_SECRET_KEY: 'one root key for every process of these tests',
  UK_LOG: 'error',
  UK_COMPUTER_DRIVERS: DRIVERS.join(',') || 'off',
  UK_DOCKER_SOCKET: podman?.socket ?? '',
  UK_DOCKER_IMAGES: IMAGE,
  UK_COMPUTERS_PER_WORKSPACE: '100',
  UK_LIMIT_WRITES: '0',
  UK_LIMIT_READS: '0',
  UK_LIMIT_IN_FLIGHT: '0',
}
const hostFolder = (): string => openHost(database.dataDir).folder

let program: Program
let alice: Caller
let cookie = ''
const { make, ids: createdIds, waitForEnd, exec, load, settles } = cloudsOf(() => alice)

async function start(): Promise<void> {
  program = startProgram(environment)
  alice = await signedIn(await program.ready)
}
async function signedIn(origin: string): Promise<Caller> {
  if (cookie === '') {
    const person = { email: 'alice@example.com', password: 'a long password', name: 'Alice' }
    const { headers } = await caller(origin, { 'x-uk-csrf': '1' }).post('/auth/sign-up', person)
    cookie = headers.get('set-cookie')!.split(';')[0]!
  }
  return caller(origin, { cookie, 'x-uk-csrf': '1' })
}
async function kill(which: Program = program): Promise<void> {
  which.child.kill('SIGKILL')
  await which.exited
}
after(async () => {
  await program?.[Symbol.asyncDispose]()
  if (DRIVERS.length > 0) rmSync(hostFolder(), { recursive: true, force: true })
  await pool.end()
  await podman?.[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const lifecycleOf = async (id: string): Promise<string | undefined> =>
  (await pool.query('select lifecycle from computers where id = $1', [id])).rows[0]?.lifecycle
const online = (id: string) =>
  until(
    async () => (await load(id)).connection,
    (connection) => connection === 'online',
  )
const containers = async (): Promise<{ Names: string[]; State: string }[]> =>
  podman ? JSON.parse(await ask(podman.socket, 'GET', '/v1.41/containers/json?all=true')) : []
const containersOf = async (id: string) =>
  (await containers()).filter(({ Names }) => Names.some((name) => name.includes(id.toLowerCase())))

const sandboxed = async (id: string): Promise<boolean> =>
  processesWith(`${id}/`).length > 0 || (await containersOf(id)).length > 0
const isPaused = async (id: string): Promise<boolean> =>
  processesWith(`${id}/`).some((pid) => stateOf(pid) === 'T') ||
  (await containersOf(id)).some(({ State }) => State === 'paused')
function stateOf(pid: number): string {
  try {
    return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1]!
  } catch {
    return ''
  }
}

const begin = async (driver: string, more: object = {}) => {
  const { status, body, text } = await alice.post('/app/computers', { name: 'Box', driver, ...more })
  assert.equal(status, 202, text)
  return { operation: body.data.id as string, id: body.data.resource.id as string }
}
/** Large enough to take a while to pack. */
const FILL = 'head -c 60000000 /dev/urandom > big; sha256sum big > sum; sync'

interface State {
  name: string
  /** Brings a computer of this driver into the state. */
  begin(driver: string): Promise<string>
  /** Whether it is in the state, in the database and on the host. */
  there(id: string): Promise<boolean>
  /** Whether it passed the state. The kill came too late but must do no harm. */
  past(id: string): Promise<boolean>
  /** Asserts what the next server does without a request. */
  comesTo(id: string, driver: string): Promise<void>
}

const operations = new Map<string, string>()
const snapshots = new Map<string, string>()
const STATES: State[] = [
  {
    name: 'creating',
    async begin(driver) {
      const { id, operation } = await begin(driver)
      operations.set(id, operation)
      return id
    },
    there: async (id) => (await lifecycleOf(id)) === 'provisioning' && existsSync(join(hostFolder(), id)),
    past: async (id) => (await lifecycleOf(id)) === 'running',
    async comesTo(id) {
      const { status, error } = await waitForEnd(operations.get(id)!)
      assert.equal(status, 'succeeded', JSON.stringify(error))
      await online(id)
    },
  },
  {
    name: 'starting',
    async begin(driver) {
      const id = await make({ driver })
      await exec(id, 'echo kept > file; sync')
      await alice.post(`/computers/${id}/stop`)
      await settles(id, 'stopped')
      await alice.post(`/computers/${id}/start`)
      return id
    },
    there: async (id) => (await lifecycleOf(id)) === 'starting' && (await sandboxed(id)),
    past: async (id) => (await lifecycleOf(id)) === 'running',
    async comesTo(id) {
      await settles(id, 'running')
      await online(id)
      assert.equal((await exec(id, 'cat file')).stdout, 'kept\n')
    },
  },
  {
    name: 'running',
    async begin(driver) {
      const id = await make({ driver })
      await exec(id, 'echo $$ > shell; (sleep 100000 & echo $! > pid)')
      const { terminal_id } = (await alice.post(`/computers/${id}/terminal`, { action: 'open' })).body.data
      operations.set(id, terminal_id)
      return id
    },
    there: async (id) => (await lifecycleOf(id)) === 'running',
    past: async () => false,
    async comesTo(id) {
      await online(id)
      // It ran on without a server.
      const { data } = (await alice.post(`/computers/${id}/terminal`, { action: 'list' })).body
      assert.deepEqual(
        data.map((one: { terminal_id: string; status: string }) => [one.terminal_id, one.status]),
        [[operations.get(id), 'open']],
      )
    },
  },
  {
    name: 'stopping',
    async begin(driver) {
      const id = await make({ driver })
      await alice.post(`/computers/${id}/stop`)
      return id
    },
    there: async (id) => (await lifecycleOf(id)) === 'stopping',
    past: async (id) => (await lifecycleOf(id)) === 'stopped',
    async comesTo(id) {
      await settles(id, 'stopped')
      assert.equal(await sandboxed(id), false)
    },
  },
  {
    name: 'snapshotting',
    async begin(driver) {
      const id = await make({ driver })
      await exec(id, FILL)
      const { body } = await alice.post(`/computers/${id}/snapshots`, {})
      operations.set(id, body.data.id)
      return id
    },
    there: (id) => isPaused(id),
    past: async (id) =>
      (await pool.query(`select from computer_snapshots where computer_id = $1 and status = 'ready'`, [id]))
        .rowCount === 1,
    async comesTo(id) {
      const { status, result, error } = await waitForEnd(operations.get(id)!)
      assert.equal(status, 'succeeded', JSON.stringify(error))
      assert.equal(result.status, 'ready')
      snapshots.set((await load(id)).driver, result.id)
      await online(id)
      assert.equal((await exec(id, 'echo goes on')).stdout, 'goes on\n')
      assert.equal(await isPaused(id), false)
    },
  },
  {
    name: 'restoring',
    async begin(driver) {
      const { id, operation } = await begin(driver, { from_snapshot: snapshots.get(driver) })
      operations.set(id, operation)
      return id
    },
    there: async (id) => (await lifecycleOf(id)) === 'provisioning' && existsSync(join(hostFolder(), id, 'home/big')),
    past: async (id) => (await lifecycleOf(id)) === 'running',
    async comesTo(id) {
      const { status, error } = await waitForEnd(operations.get(id)!)
      assert.equal(status, 'succeeded', JSON.stringify(error))
      await online(id)
      assert.equal((await exec(id, 'sha256sum -c sum')).stdout, 'big: OK\n')
    },
  },
  {
    name: 'deleting',
    async begin(driver) {
      const id = await make({ driver, from_snapshot: snapshots.get(driver) })
      await alice.delete(`/computers/${id}`)
      return id
    },
    there: async (id) => (await pool.query('select from cloud_remains where computer_id = $1', [id])).rowCount === 1,
    past: async (id) => !existsSync(join(hostFolder(), id)),
    async comesTo(id) {
      await until(
        async () => existsSync(join(hostFolder(), id)),
        (there) => !there,
      )
      assert.equal(await sandboxed(id), false)
    },
  },
]

/** Tests that kill servers in these states of a cloud computer, with each available driver. Default: all states. */
export function killedIn(names: readonly string[] | null = null): void {
  for (const state of STATES)
    if (names?.includes(state.name) ?? true)
      test(
        `after a server is killed while computers are ${state.name}, the next one completes it`,
        somewhere,
        async (t) => {
          if (alice === undefined) await start()
          const ids: string[] = []
          for (const driver of DRIVERS) {
            const id = await state.begin(driver)
            ids.push(id)
            const caught = await until(
              async () => ((await state.there(id)) ? 'there' : (await state.past(id)) ? 'past' : null),
              (value) => value !== null,
            )
            await kill()
            t.diagnostic(`${driver}: ${caught}`)
            await start()
          }
          for (const [at, id] of ids.entries()) {
            await state.comesTo(id, DRIVERS[at]!)
            // Deleting works from every state.
            if (state.name !== 'deleting') assert.equal((await alice.delete(`/computers/${id}`)).status, 200)
          }
          await nothingIsLeft()
        },
      )
}

async function nothingIsLeft(): Promise<void> {
  const { rows } = await pool.query<{ id: string }>('select computer_id as id from cloud_computers')
  for (const { id } of rows) await alice.delete(`/computers/${id}`)
  await until(
    async () => (await pool.query('select from cloud_remains')).rowCount,
    (count) => count === 0,
  )
  assert.deepEqual(
    readdirSync(hostFolder()).filter((name) => /^[0-9A-Z]{26}$/.test(name)),
    [],
  )
  assert.deepEqual(processesWith(`${hostFolder()}/`), [])
  assert.deepEqual(await containers(), [])
  for (const controller of ['memory/ukiyo', 'pids/ukiyo', 'cpu/ukiyo', 'ukiyo'])
    for (const id of createdIds) assert.ok(!existsSync(join('/sys/fs/cgroup', controller, id)), `${controller}/${id}`)
}
