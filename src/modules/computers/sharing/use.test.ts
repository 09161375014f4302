// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { call, results, say, script, tools } from '#test/chats/chats.ts'
import { readEvents } from '#test/events.ts'
import { type Home, type RunningDaemon, daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { pairedComputer, teamOf } from '#test/makers.ts'
import { type Answer, type Caller, type Person, caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { PATIENCE_MS, until } from '#test/until.ts'
import type { Input } from '#daemon-protocol/operations.ts'

const { server, twin, alice } = await twoServers()
let home: Home
/** The terminals whose read request has reached the computer. */
const readers = new Set<string>()
let daemon: RunningDaemon
/** Alice's. */
let id: string
let team: string
let bob: Person

before(async () => {
  home = daemonHome()
  const pairing = await pairedComputer(alice)
  id = pairing.id
  const keeper = home.keeper()
  const answer = keeper.answer.bind(keeper)
  keeper.answer = (op, input, ...rest) => {
    if (op === 'terminal.read') readers.add((input as Input<'terminal.read'>).terminal_id)
    return answer(op, input, ...rest)
  }
  daemon = await runDaemonAt(home, server.origin, pairing, { keeper })
  assert.ok(await server.app.engine.links.online(id, PATIENCE_MS))
  bob = await server.person('Bob')
  team = await teamOf(alice, [[bob, 'member']])
})
after(async () => {
  await daemon[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
})

/** Without capabilities, the team doesn't see the computer. */
async function grant(capabilities: readonly string[]): Promise<void> {
  const at = `/computers/${id}/exposures`
  if (capabilities.length === 0) return void (await alice.delete(`${at}/${team}`))
  const changed = await alice.patch(`${at}/${team}`, { capabilities })
  if (changed.status === 404) assert.equal((await alice.post(at, { workspace_id: team, capabilities })).status, 201)
}

const outcomeOf = ({ status, body }: Answer): string =>
  status < 400 ? 'allowed' : `${status} ${body.error?.code ?? body.error?.type}`
function attached(
  who: Caller,
  terminal_id: string,
): Promise<{ status: string; socket?: WebSocket; closed?: Promise<number> }> {
  const url = `${who.origin.replace('http', 'ws')}/v1/computers/${id}/terminals/${terminal_id}/attach?from=0`
  const socket = new WebSocket(url, { headers: who.headers })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  return new Promise((resolve) => {
    socket.once('open', () => resolve({ status: 'allowed', socket, closed }))
    socket.on('error', () => {})
    socket.once('unexpected-response', (_, response) => {
      let text = ''
      response.on('data', (part: Buffer) => (text += String(part)))
      response.on('end', () =>
        resolve({ status: outcomeOf({ status: response.statusCode!, body: JSON.parse(text) } as Answer) }),
      )
    })
  })
}

/** Every way to use a command or terminal, with its required capability. */
const WAYS: Record<string, { needs: 'exec' | 'terminal'; ask(who: Caller, terminal_id: string): Promise<string> }> = {
  'a command': {
    needs: 'exec',
    ask: async (who) => outcomeOf(await who.post(`/computers/${id}/exec`, { command: 'true' })),
  },
  'a followed command': {
    needs: 'exec',
    ask: async (who) =>
      outcomeOf(await who.post(`/computers/${id}/exec`, { command: 'true' }, { accept: 'text/event-stream' })),
  },
  'a background command': {
    needs: 'exec',
    ask: async (who) => outcomeOf(await who.post(`/computers/${id}/exec`, { command: 'true', background: true })),
  },
  ...Object.fromEntries(
    Object.entries({
      open: { argv: ['true'] },
      list: {},
      read: {},
      write: { data: 'x' },
      resize: { cols: 90, rows: 30 },
      close: { signal: 'SIGWINCH' },
    }).map(([action, more]) => [
      `terminal ${action}`,
      {
        needs: 'terminal' as const,
        ask: async (who: Caller, terminal_id: string) => {
          const of = action === 'open' || action === 'list' ? {} : { terminal_id }
          return outcomeOf(await who.post(`/computers/${id}/terminal`, { action, ...of, ...more }))
        },
      },
    ]),
  ),
  'a live terminal': {
    needs: 'terminal',
    async ask(who, terminal_id) {
      const { status, socket } = await attached(who, terminal_id)
      socket?.terminate()
      return status
    },
  },
  'a ticket to a terminal': {
    needs: 'terminal',
    ask: async (who, terminal_id) => outcomeOf(await who.post(`/computers/${id}/terminals/${terminal_id}/ticket`, {})),
  },
}

const openTerminal = async (argv: readonly string[] = ['cat']): Promise<string> => {
  const { status, body, text } = await alice.post(`/computers/${id}/terminal`, { action: 'open', argv })
  assert.equal(status, 200, text)
  return body.data.terminal_id
}

test('every kind of caller gets exactly the granted capabilities in every way of use', async () => {
  const [vera, eve, carol] = [await server.person('Vera'), await server.person('Eve'), await server.person('Carol')]
  for (const [person, role] of [
    [vera, 'viewer'],
    [eve, 'member'],
  ] as const) {
    const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: person.email, role })).body.data
    await person.post('/invitations/accept', { token })
  }
  const former = await eve.key({ workspace_id: team })
  const asGranted = (needs: string, capabilities: readonly string[]): string =>
    capabilities.length === 0 ? '404 not_found' : capabilities.includes(needs) ? 'allowed' : '403 capability_denied'
  const unknown = (): string => '404 not_found'
  const callers: [string, Caller, typeof asGranted][] = [
    ['its owner', alice, () => 'allowed'],
    ['a member', bob, asGranted],
    ['a member at another process', caller(twin.origin, bob.headers), asGranted],
    ['a member’s key', await bob.key(), asGranted],
    ['a key of the workspace', await bob.key({ workspace_id: team }), asGranted],
    ['a key of elsewhere', await bob.key({ workspace_id: bob.workspaceId }), unknown],
    ['a key that may only look', await bob.key({ scopes: ['computer:read'] }), () => '403 missing_scope'],
    [
      'the owner’s key of elsewhere',
      await alice.key({ workspace_id: (await alice.post('/workspaces', { name: 'Else' })).body.data.id }),
      unknown,
    ],
    ['a viewer', vera, (_, capabilities) => (capabilities.length === 0 ? '404 not_found' : '403 insufficient_role')],
    ['a former member', eve, unknown],
    ['a former member’s key', former, unknown],
    ['a stranger', carol, unknown],
  ]
  assert.equal((await alice.delete(`/workspaces/${team}/members/${eve.id}`)).status, 200)
  const terminal_id = await openTerminal()
  const wrong: string[] = []
  for (const capabilities of [[], ['exec'], ['terminal'], ['exec', 'terminal'], ['fs_read']]) {
    await grant(capabilities)
    for (const [who, by, expected] of callers)
      for (const [way, { needs, ask }] of Object.entries(WAYS)) {
        const [outcome, right] = [await ask(by, terminal_id), expected(needs, capabilities)]
        if (outcome !== right) wrong.push(`${who}, ${way}, granted ${capabilities.join()}: ${outcome}, not ${right}`)
      }
  }
  assert.deepEqual(wrong, [])
})

/** An ongoing use of the computer. */
interface Use {
  /** Resolves with the way in which it ended. */
  ends: Promise<string>
}
let marks = 0
/** A one-minute command. `runs` resolves once it started. */
function lasting(): { command: string; runs: () => Promise<unknown> } {
  const file = join(home.folder, `runs-${++marks}`)
  return { command: `echo > ${file}; sleep 60`, runs: () => until(async () => existsSync(file), Boolean) }
}
const isRead = (terminal_id: string): Promise<unknown> => until(async () => readers.has(terminal_id), Boolean)

/** Uses that would last a minute. */
const LASTING: Record<string, (who: Caller) => Promise<Use>> = {
  async 'a foreground command'(who) {
    const { command, runs } = lasting()
    const ends = who.post(`/computers/${id}/exec`, { command }).then(outcomeOf)
    await runs()
    return { ends }
  },
  async 'a followed command'(who) {
    const response = await fetch(`${who.origin}/v1/computers/${id}/exec`, {
      method: 'POST',
      headers: { ...who.headers, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ command: 'while :; do echo more; sleep 0.2; done' }),
    })
    const reader = response.body!.getReader()
    await reader.read()
    const ends = (async () => {
      let last = ''
      for (;;) {
        const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
        if (done) return /exec\.failed|event: error/.test(last) ? 'told' : 'cut'
        last = Buffer.from(value).toString()
      }
    })()
    return { ends }
  },
  async 'a background command'(who) {
    const { body } = await who.post(`/computers/${id}/exec`, { command: 'echo up; sleep 60', background: true })
    const operation: string = body.data.id
    const { pool } = server.app.engine.postgres
    const row = async () =>
      (await pool.query('select status, content, error from operations where id = $1', [operation])).rows[0]
    await until(row, ({ content }) => content?.includes('up'))
    const ends = until(row, ({ status }) => status !== 'running').then(({ error }) => error?.code ?? error?.type)
    return { ends }
  },
  async 'a live terminal'(who) {
    const terminal_id = await openTerminal()
    const { closed, status } = await attached(who, terminal_id)
    assert.equal(status, 'allowed')
    return { ends: closed!.then(String) }
  },
  async 'a waiting terminal read'(who) {
    const terminal_id = await openTerminal()
    const ends = who
      .post(`/computers/${id}/terminal`, { action: 'read', terminal_id, from: 0, wait_ms: 30_000 })
      .then(outcomeOf)
    await isRead(terminal_id)
    return { ends }
  },
}

/** Ways to lose permission that don't affect others. */
const LOSSES: Record<string, (who: { key: Caller & { keyId: string } }) => Promise<unknown>> = {
  'the grant is withdrawn': () => grant([]),
  'the grant changes': () => grant(['fs_read']),
  'its user is made a viewer': () => alice.patch(`/workspaces/${team}/members/${bob.id}`, { role: 'viewer' }),
  'its user is removed': () => alice.delete(`/workspaces/${team}/members/${bob.id}`),
  'the key is revoked': ({ key }) => bob.delete(`/api-keys/${key.keyId}`),
}

for (const [loss, lose] of Object.entries(LOSSES))
  test(`every running use ends in every process when ${loss}`, async () => {
    await grant(['exec', 'terminal'])
    const members = (await alice.get(`/workspaces/${team}/members`)).body.data as { user_id: string }[]
    if (!members.some(({ user_id }) => user_id === bob.id)) {
      const { token } = (await alice.post(`/workspaces/${team}/invitations`, { email: bob.email, role: 'member' })).body
        .data
      await bob.post('/invitations/accept', { token })
    } else await alice.patch(`/workspaces/${team}/members/${bob.id}`, { role: 'member' })
    const key = await bob.key({ workspace_id: team })
    const uses = await Promise.all(
      [server.origin, twin.origin].flatMap((origin) =>
        Object.entries(LASTING).map(async ([what, begin]) => ({ what, ...(await begin(caller(origin, key.headers))) })),
      ),
    )
    const owners = await attached(alice, await openTerminal())
    await lose({ key })
    // A completed use would report 200 or never end.
    const outcomes = await Promise.all(uses.map(async ({ what, ends }) => ({ what, how: await ends })))
    for (const { what, how } of outcomes)
      assert.match(how, /^(40[134] |told|cut|1008|not_found|capability_denied|insufficient_role)/, `${what}: ${how}`)
    // The owner keeps access.
    let output = ''
    const echo = new Promise((resolve) =>
      owners.socket!.on('message', (data: Buffer, binary) => {
        if (binary) output += data.toString()
        if (output.includes('still mine')) resolve('still mine')
      }),
    )
    owners.socket!.send(Buffer.from('still mine\r'))
    assert.equal(await Promise.race([owners.closed, echo]), 'still mine')
  })

test('an agent’s commands and terminal reads end when its user loses permission', async () => {
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1 })
  await grant(['exec', 'terminal'])
  const policies = tools({ 'computers.exec': 'allow', 'computers.terminal': 'allow' })
  const agent = { name: 'Operator', model: 'sim/script', workspace_id: team, tools: policies }
  const { id: agent_id } = (await alice.post('/agents', agent)).body.data
  const terminal_id = await openTerminal()
  const { command, runs } = lasting()
  for (const [firstTool, input, next] of [
    [runs, call('computers_exec', { id, command }), call('computers_exec', { id, command: 'echo still' })],
    [
      () => isRead(terminal_id),
      call('computers_terminal', { id, action: 'read', terminal_id, from: 0, wait_ms: 30_000 }),
      call('computers_terminal', { id, action: 'list' }),
    ],
  ] as const) {
    await grant(['exec', 'terminal'])
    const { id: chat } = (await bob.post('/chats', { agent_id, workspace_id: team })).body.data
    const content = script([call('computers_terminal', { id, action: 'list' })], [input], [next], [say('done')])
    let calls = 0
    let last = ''
    for await (const { event } of readEvents(bob, `/chats/${chat}/messages/stream`, { body: { content } })) {
      last = event
      if (event !== 'tool_call.started' || ++calls !== 2) continue
      await firstTool()
      await grant([])
    }
    assert.equal(last, 'run.completed')
    const { data } = (await bob.get(`/chats/${chat}/messages?limit=100`)).body
    const [list, ...outputs] = data.flatMap(results) as { output: any; is_error: boolean }[]
    // The newest terminal is on the first of several pages.
    assert.ok(list!.output.data.some((one: { terminal_id: string }) => one.terminal_id === terminal_id))
    assert.deepEqual(
      outputs.map(({ is_error, output }) => [is_error, output.error?.type]),
      [
        [true, 'not_found'],
        [true, 'not_found'],
      ],
    )
  }
})
