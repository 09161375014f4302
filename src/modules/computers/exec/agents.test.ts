import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, results, say, script, tools } from '#test/chats/chats.ts'
import { machineOf, peopleAround, serverWithAlice } from '#test/computers/world.ts'
import { type Caller, type Person } from '#test/server.ts'
import { until } from '#test/until.ts'

const { server, alice } = await serverWithAlice()
const { bob, vera, team } = await peopleAround(server, alice)
await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
const { id } = await machineOf(server, alice)

/** Runs these calls with an agent, which reaches the computers of its workspace. */
async function played(workspace_id: string, person: Person, policies: Record<string, string>, ...calls: object[]) {
  const agent = { name: 'Operator', model: 'sim/script', workspace_id, tools: tools(policies) }
  const { id: agent_id } = (await alice.post('/agents', agent)).body.data
  const { id: chat } = (await person.post('/chats', { agent_id, workspace_id })).body.data
  const turns = [...calls.map((one) => [one]), [say('done')]]
  const answer = await person.post(`/chats/${chat}/messages`, { content: script(...turns) })
  assert.equal(answer.status, 200, answer.text)
  const { data } = (await person.get(`/chats/${chat}/messages?limit=100`)).body
  const outputs: { output: any; is_error: boolean }[] = data.flatMap(results)
  return { chat, run: answer.body.data.run, outputs }
}

test('agents run commands and use terminals, with output limited for the model', async () => {
  const policies = { 'computers.exec': 'allow', 'computers.terminal': 'allow', 'computers.list': 'allow' }
  const { outputs } = await played(
    alice.workspaceId,
    alice,
    policies,
    call('computers_list'),
    call('computers_exec', { id, command: 'echo "hello from $0"; exit 5' }),
    call('computers_exec', { id, command: 'seq 200000' }),
    call('computers_terminal', { id, action: 'open', argv: ['/bin/sh', '-c', 'seq 50000; sleep 100'] }),
  )
  const [list, ran, much, terminal] = outputs.map(({ output }) => output.data)
  assert.ok(list.some((one: { id: string }) => one.id === id))
  assert.deepEqual([ran.exit_code, ran.stdout], [5, 'hello from /bin/sh\n'])
  assert.ok(much.truncated && much.stdout.length < 33_000)
  assert.match(much.stdout, /^1\n2\n[^]*bytes were left out here[^]*\n200000\n$/)

  const { terminal_id } = terminal
  const pages = await played(
    alice.workspaceId,
    alice,
    policies,
    call('computers_terminal', { id, action: 'read', terminal_id, from: 0, max_bytes: 1_000, wait_ms: 5_000 }),
    call('computers_terminal', { id, action: 'read', terminal_id, from: 100, max_bytes: 1_000 }),
    call('computers_terminal', { id, action: 'close', terminal_id }),
  )
  const [first, second] = pages.outputs.map(({ output }) => output.data)
  assert.ok(first.data.startsWith('1\r\n2\r\n') && first.data.length <= 1_000)
  assert.equal(second.data.slice(0, 100), first.data.slice(100, 200))
})

test('tool policies `ask` and `deny` apply', async () => {
  const outputs = await played(
    alice.workspaceId,
    alice,
    { 'computers.exec': 'ask' },
    call('computers_exec', { id, command: 'true' }),
  )
  assert.deepEqual([outputs.run.status, outputs.outputs], ['requires_action', []])
  const [action] = outputs.run.pending_actions
  assert.deepEqual([action.tool, action.arguments.command], ['computers.exec', 'true'])
  const denied = await played(
    alice.workspaceId,
    alice,
    { 'computers.list': 'allow' },
    call('computers_exec', { id, command: 'true' }),
  )
  assert.equal(denied.outputs[0]?.is_error, true)
  // Sharing and transferring always need approval.
  const expose = { id, workspace_id: team, capabilities: ['exec'] }
  const exposing = await played(
    alice.workspaceId,
    alice,
    { 'computers.expose': 'allow' },
    call('computers_expose', expose),
  )
  assert.equal(exposing.run.status, 'requires_action')
})

test('an agent has the permissions of the person using it', async () => {
  const policies = { 'computers.exec': 'allow' }
  const command = call('computers_exec', { id, command: 'echo as-$((1+1))' })
  const codeOf = ({ outputs }: { outputs: { output: any }[] }) => [
    outputs[0]!.output.error?.type,
    outputs[0]!.output.error?.code,
  ]
  // Alice's agent can't reach her own computer from the team's chats either.
  assert.deepEqual(codeOf(await played(team, alice, policies, command)), ['not_found', undefined])
  assert.deepEqual(codeOf(await played(team, bob, policies, command)), ['not_found', undefined])
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['terminal'] })
  assert.deepEqual(codeOf(await played(team, bob, policies, command)), ['forbidden', 'capability_denied'])
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['exec'] })
  assert.equal((await played(team, bob, policies, command)).outputs[0]!.output.data.stdout, 'as-2\n')
  await alice.delete(`/computers/${id}/exposures/${team}`)
})

test('commands run over /mcp', async () => {
  const key = await alice.key({ scopes: ['computer:exec', 'computer:read'] })
  const rpc = async (name: string, args: object) => {
    const answer = await key.post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
      { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
    )
    const line = answer.text.split('\n').find((one) => one.startsWith('data: '))
    return (answer.body ?? JSON.parse(line!.slice(6))).result.structuredContent
  }
  const tools = await rpc('find', { query: 'run a shell command on a computer' })
  assert.match(JSON.stringify(tools), /computers\.exec/)
  const ran = await rpc('do', { name: 'computers.exec', input: { id, command: 'echo mcp' } })
  assert.equal(ran.data.stdout, 'mcp\n')
})

test('only the caller who started a command can write to its stdin, while they have permission', async () => {
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['exec'] })
  const response = await bob.post(`/computers/${id}/exec`, { command: 'cat', stdin_open: true, background: true })
  assert.equal(response.status, 202, response.text)
  const exec_id = response.body.data.id
  const output = async () => (await bob.get(`/operations/${exec_id}/content`)).text
  const bodyOf = (data: string) => ({ offset: 0, data })
  const write = (who: Caller) => who.post(`/computers/${id}/exec/${exec_id}/stdin`, bodyOf('no\n'))
  const byAgent = async (workspace: string, who: Person) => {
    const stdin = call('computers_exec_stdin', { id, exec_id, ...bodyOf('yes\n') })
    const { outputs } = await played(workspace, who, { 'computers.exec_stdin': 'allow' }, stdin)
    return outputs[0]!
  }
  await until(
    () => bob.get(`/operations/${exec_id}`),
    ({ body }) => body.data.status === 'running',
  )

  const refusals: [string, () => Promise<Caller>, number][] = [
    ['the owner of the machine', async () => alice, 404],
    ['a viewer of the team', async () => vera, 403],
    ['his key that is held elsewhere', () => bob.key({ workspace_id: bob.workspaceId }), 404],
    ['his key that may not use computers', () => bob.key({ scopes: ['chat:read'] }), 403],
  ]
  for (const [who, caller, status] of refusals) assert.equal((await write(await caller())).status, status, who)
  for (const workspace of [alice.workspaceId, team]) {
    const { output, is_error } = await byAgent(workspace, alice)
    assert.deepEqual([is_error, output.error.type], [true, 'not_found'], JSON.stringify(output))
  }
  const own = await byAgent(team, bob)
  assert.equal(own.is_error, false, JSON.stringify(own))
  await until(output, (text) => text === 'yes\n')

  await alice.patch(`/workspaces/${team}/members/${bob.id}`, { role: 'viewer' })
  assert.equal((await write(bob)).status, 403, 'he is a viewer now')
  await alice.delete(`/workspaces/${team}/members/${bob.id}`)
  for (const who of [bob, await bob.key()]) assert.equal((await write(who)).status, 404, 'he is no member any more')
  const statusQuery = 'select status from operations where id = $1'
  await until(
    async () => (await server.app.engine.postgres.pool.query(statusQuery, [exec_id])).rows[0].status,
    (status) => status === 'failed',
  )
})
