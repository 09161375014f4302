import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pairedComputer, teamOf } from '#test/makers.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
let team: string

before(async () => {
  server = await testServer({ environment: { UK_COMPUTERS_PER_WORKSPACE: '1' } })
  alice = await server.person('Alice')
  team = await teamOf(alice, [])
})
after(() => server[Symbol.asyncDispose]())

async function elsewhere(host: string, lifecycle: string): Promise<string> {
  const { id } = await pairedComputer(alice)
  const { pool } = server.app.engine.postgres
  await pool.query(`update computers set kind = 'cloud', lifecycle = $2 where id = $1`, [id, lifecycle])
  await pool.query(
    `insert into cloud_computers (computer_id, driver, host, image, network, made) values ($1, 'bubblewrap', $2, 'host', 'none', true)`,
    [id, host],
  )
  return id
}

test('concurrent transfers can’t exceed a workspace’s limit of cloud computers', async () => {
  const boxes = await Promise.all([1, 2, 3].map(() => elsewhere('h', 'stopped')))
  const give = (id: string) => alice.post(`/computers/${id}/transfer`, { workspace_id: team })
  const answers = await Promise.all(boxes.map(give))
  const codes = answers.map(({ status, body }) => body.error?.code ?? status)
  assert.deepEqual(codes.toSorted(), [200, 'limit_reached', 'limit_reached'])
  const there = boxes[codes.indexOf(200)]!
  assert.equal((await give(there)).status, 200, 'it is there')
  const { id } = await pairedComputer(alice)
  assert.equal((await give(id)).status, 200, 'machines that were paired count by themselves')
})

test('a computer on a lost host can’t be started or stopped but can be deleted', async () => {
  const [stoppedId, runningId] = [await elsewhere('gone', 'stopped'), await elsewhere('gone', 'running')]
  const ask = async (id: string, verb: string) => {
    const { status, body } = await alice.post(`/computers/${id}/${verb}`)
    return [status, body.error?.code ?? body.data.lifecycle]
  }
  assert.deepEqual(await ask(stoppedId, 'start'), [409, 'invalid_state'])
  assert.deepEqual(await ask(runningId, 'stop'), [409, 'invalid_state'])
  assert.deepEqual(await ask(runningId, 'start'), [200, 'running'])
  assert.equal((await alice.get(`/computers/${stoppedId}`)).body.data.lifecycle, 'stopped')
  assert.equal((await alice.delete(`/computers/${runningId}`)).status, 200)
  // A server on that host starts.
  const { pool } = server.app.engine.postgres
  await pool.query(
    `insert into leases (name, holder, expires_at) select 'cloud_computers.gone', id, now() + interval '1 min' from processes limit 1`,
  )
  assert.deepEqual(await ask(stoppedId, 'start'), [200, 'starting'])
})
