// Thorough: run by the merge check, or by name.
/** Every route that calls a computer has its own limit, short in this file, for a computer that is connected and silent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asksOf } from '#test/link/asks.ts'
import { type Linked, linkUp } from '#test/link/daemon.ts'
import type { Answerer } from '#test/link/pair.ts'
import { pairedComputer } from '#test/makers.ts'
import type { Answer, Caller } from '#test/server.ts'
import { twoServers } from '#test/two-servers.ts'
import { becomes, until } from '#test/until.ts'
import { newId } from '#core/ids.ts'
import { SILENT } from '#packages/mux/heartbeat.ts'
import { CLOSE } from '#packages/mux/mux.ts'
import type { OperationName } from '#daemon-protocol/operations.ts'
import { computers } from '../../contract.ts'

const { server, twin, alice, beyond } = await twoServers({ waits: { computers: { answerMs: 200, stillMs: 200 } } })
const { asks, attached, inTheEnd } = asksOf({ server, twin, alice, beyond })

type Endpoints = typeof computers.endpoints
type Name = {
  [N in keyof Endpoints]: Endpoints[N]['path'] extends `/computers/:id${string}` ? N : never
}[keyof Endpoints]
const ofComputer = (Object.keys(computers.endpoints) as (keyof Endpoints)[]).filter((name) =>
  computers.endpoints[name].path.startsWith('/computers/:id'),
)

interface Call {
  /** `LOCAL` never calls the computer; `ACCEPTED` answers before it does. */
  ends?: 'LOCAL' | 'ACCEPTED'
  body?: object | Uint8Array
  query?: string
  headers?: Record<string, string>
  params?: Record<string, string> | ((id: string) => Promise<Record<string, string>>)
}
const LOCAL: Call = { ends: 'LOCAL' }
const events = { accept: 'text/event-stream' }
const bytes = { 'content-type': 'application/octet-stream' }
const x = (body: object): Call => ({ body: { path: '/x', ...body } })
const t = (body: object): Call => ({ body: { terminal_id: 't', ...body } })

async function openStdin(id: string): Promise<Record<string, string>> {
  const command = newId()
  const { pool } = server.app.engine.postgres
  await pool.query('insert into open_stdins (exec_id, computer_id, account_id) values ($1, $2, $3)', [
    command,
    id,
    alice.id,
  ])
  return { exec_id: command }
}
const modelOf = async (id: string): Promise<Record<string, string>> => {
  const { body } = await until(
    () => alice.get(`/computers/${id}/local-inference/models`),
    (answer) => answer.body.data.length === 1,
  )
  return { local_model_id: body.data[0].id }
}
const fileId = async (): Promise<string> =>
  (await alice.post('/drive/files', { workspace_id: alice.workspaceId, name: `${newId()}.txt`, content: 'x' })).body
    .data.id

/** All variants of each endpoint. */
const calls: Record<Name, readonly Call[]> = {
  get: [LOCAL],
  update: [{ ...LOCAL, body: { name: 'Other' } }],
  delete: [LOCAL],
  expose: [{ ...LOCAL, body: { workspace_id: newId(), capabilities: ['exec'] } }],
  change_exposure: [{ ...LOCAL, body: { capabilities: ['exec'] } }],
  withdraw: [LOCAL],
  transfer: [{ ...LOCAL, body: { workspace_id: alice.workspaceId } }],
  rotate_credential: [{ body: {} }],
  test_connection: [{ body: {} }],
  start: [LOCAL],
  stop: [LOCAL],
  snapshot: [{ ...LOCAL, body: {} }],
  snapshots: [LOCAL],
  exec: [
    { body: { command: 'true', timeout_ms: 50 } },
    { body: { command: 'true', timeout_ms: null } },
    { body: { command: 'cat', stdin: 'x'.repeat(100_000), timeout_ms: 50 } },
    { body: { command: 'true', timeout_ms: 50 }, headers: events },
    { body: { command: 'true', timeout_ms: 50, background: true }, ends: 'ACCEPTED' },
    { body: { command: 'true', background: true }, ends: 'ACCEPTED' },
  ],
  exec_stdin: [{ body: { offset: 0, data: 'x' }, params: openStdin }],
  terminal: [
    { body: { action: 'open' } },
    { body: { action: 'list' } },
    t({ action: 'write', data: 'x' }),
    t({ action: 'resize', cols: 1, rows: 1 }),
    t({ action: 'read' }),
    t({ action: 'read', wait_ms: 10, screen: true }),
    t({ action: 'close' }),
  ],
  terminal_ticket: [LOCAL],
  local_inference: ['start', 'stop', 'status', 'unload'].map((action) => ({ body: { action } })),
  local_models: [LOCAL],
  install_local_model: [
    { ends: 'ACCEPTED', body: { name: 'other', source: { url: 'https://models.example/m.gguf' } } },
  ],
  remove_local_model: [{ params: modelOf }],
  map_local_model: [{ ...LOCAL, body: { model: null }, params: modelOf }],
  local_operations: [LOCAL],
  cancel_local_operation: [LOCAL],
  fs: [
    x({ op: 'list' }),
    { body: { op: 'list' } },
    x({ op: 'stat' }),
    { body: { op: 'stat' } },
    x({ op: 'mkdir' }),
    x({ op: 'mkdir', parents: true }),
    x({ op: 'remove' }),
    x({ op: 'remove', recursive: true }),
  ],
  download: [
    { query: '?path=/x' },
    { query: '?path=/x&archive=zip' },
    { query: '?path=/x', headers: { range: 'bytes=0-1' } },
  ],
  upload_offset: [{ query: '?path=/x' }],
  upload: [
    { query: '?path=/x', body: Buffer.from('x'), headers: bytes },
    { query: '?path=/x', body: Buffer.alloc(6_000_000), headers: bytes },
    { body: { path: '/x', drive_source: { file_id: await fileId() } } },
  ],
  ports: [{}],
  label_port: [{ body: { port: 5173, label: 'App' } }],
  port_ticket: [{ body: {} }],
  users: [{}],
  create_user: [{ body: { username: 'ada' } }],
  user: [{}],
  update_user: [{ body: { groups: [] } }],
  delete_user: [{}],
}

const model = { name: 'm', engine: 'llama', size_bytes: 1, digest: null, context_length: 1, quantization: null }
const models = { models: [{ ...model, status: 'ready', loaded: false, embeds: false }] }
const never = new Promise<never>(() => {})
/** Answers pings and lists its models, which the server asks for on its own, and nothing else. */
const silent: Answerer = ({ op }) => (op === 'engine.models' ? Promise.resolve(models) : never)

async function answerOf(caller: Caller, id: string, name: Name, call: Call): Promise<Answer> {
  const { method, path } = computers.endpoints[name]
  const pathParams = typeof call.params === 'function' ? await call.params(id) : call.params
  const params: Record<string, string> = {
    id,
    terminal_id: 't',
    exec_id: newId(),
    port: '5173',
    username: 'ada',
    workspace_id: alice.workspaceId,
    local_model_id: newId(),
    operation_id: newId(),
    ...pathParams,
  }
  const place = path.replace(/:(\w+)/g, (_, param: string) => params[param]!)
  return caller.request(method, place + (call.query ?? ''), call.body, call.headers)
}

/** Asserts a timeout or an offline computer, with the time it was last seen. */
function assertSilent({ status, error }: { status: number; error: any }, what: string): void {
  assert.ok(
    (status === 504 && error?.type === 'timeout') || (status === 409 && error?.code === 'computer_offline'),
    `${what}: ${status} ${JSON.stringify(error)}`,
  )
  assert.match(String(error.details?.last_seen_at), /^\d{4}-\d\d-\d\dT.*Z$/, what)
}

async function tryAll(caller: Caller, prepare: (linked: Linked, id: string) => Promise<unknown>): Promise<void> {
  for (const name of ofComputer as Name[])
    await Promise.all(
      calls[name].map(async (call, at) => {
        const what = `${name} ${at}`
        const { id, credential } = await pairedComputer(alice)
        using linked = await linkUp(server.origin, credential, silent)
        if (name.endsWith('local_model')) await modelOf(id)
        await prepare(linked, id)
        const { status, body } = await answerOf(caller, id, name, call)
        if (call.ends === undefined) assertSilent({ status, error: body.error }, what)
        else if (call.ends === 'ACCEPTED') {
          if (status === 202) {
            if (name !== 'exec') return void (await alice.post(`/operations/${body.data.id}/cancel`))
            const { error } = await inTheEnd(body.data.id)
            return assertSilent({ status: error?.code === 'computer_offline' ? 409 : 504, error }, what)
          }
          assertSilent({ status, error: body.error }, what)
        } else assert.ok(status < 500, `${what}: ${status} ${JSON.stringify(body)}`)
        // The stream to the computer is closed.
        if (!linked.mux.closed)
          await until(
            async () => linked.mux.streams,
            (streams) => streams === 0,
          )
      }),
    )
}

test('the table covers every route of a computer, and routes that call it declare both errors', () => {
  assert.deepEqual(Object.keys(calls).toSorted(), (ofComputer as string[]).toSorted())
  for (const name of ofComputer as Name[]) {
    const { errors = [] } = computers.endpoints[name] as { errors?: readonly string[] }
    const callsComputer = calls[name].some((call) => call.ends !== 'LOCAL')
    assert.equal(errors.includes('computer_offline'), callsComputer, name)
    assert.equal(errors.includes('timeout'), callsComputer, name)
  }
})

test('every route ends at its own limit while the daemon only answers pings', async () => {
  await tryAll(alice, async () => {})
})

test('the same holds through another server process', async () => {
  await tryAll(beyond, async () => {})
})

test('every route ends while a lost computer does not come back', async () => {
  await tryAll(alice, async ({ mux }, id) => {
    mux.close(CLOSE.restart, 'it breaks')
    await becomes(async () => (await alice.get(`/computers/${id}`)).body.data.connection, 'offline')
  })
})

/** The start of an answer for each operation that has one; nothing follows. */
const firstWords: Partial<Record<OperationName, Answerer>> = {
  async exec(_, stream) {
    stream.event({ type: 'started', pid: 1, stdin: 0 })
    await stream.write(Buffer.from('x'), 1)
    return never
  },
  async 'fs.read'({ input }, stream) {
    const entry = {
      name: 'x',
      path: '/x',
      name_base64: null,
      type: 'file',
      size_bytes: 5,
      mode: 0o644,
      owner: null,
      modified_at: new Date(0).toISOString(),
      target: null,
    }
    stream.event({
      type: 'head',
      entry,
      length: 5,
      etag: (input as { archive: unknown }).archive === null ? 'e' : null,
    })
    return never
  },
  async 'fs.write'(_, stream) {
    stream.event({ type: 'offset', offset: 0 })
    return never
  },
  async 'terminal.read'(_, stream) {
    await stream.write(Buffer.from('x'))
    return never
  },
}
const startsOnly: Answerer = (request, stream, call) =>
  (firstWords[request.op as OperationName] ?? silent)(request, stream, call)

test('calls end when a daemon starts an answer and falls silent', async () => {
  const { id, credential } = await pairedComputer(alice)
  using linked = await linkUp(server.origin, credential, startsOnly)
  for (const caller of [alice, beyond]) {
    const later: [Name, Call][] = [
      ...calls.exec.slice(0, 3).map((call): [Name, Call] => ['exec', call]),
      ['download', { query: '?path=/x' }],
      ...calls.upload.map((call): [Name, Call] => ['upload', call]),
      ['terminal', t({ action: 'read' })],
    ]
    await Promise.all(
      later.map(async ([name, call], at) => {
        const { status, body } = await answerOf(caller, id, name, call)
        assertSilent({ status, error: body.error }, `${name} ${at}`)
      }),
    )
    const response = await answerOf(caller, id, 'exec', { body: { command: 'true', timeout_ms: 50 }, headers: events })
    assert.match(response.text, /event: exec\.failed\ndata: .*"timeout"/)
    // The archive has started, so the response is aborted.
    await assert.rejects(answerOf(caller, id, 'download', { query: '?path=/x&archive=zip' }))
    const copied = await caller.post('/drive/files', {
      workspace_id: alice.workspaceId,
      name: 'copy.txt',
      computer_source: { computer_id: id, path: '/x' },
    })
    assertSilent({ status: copied.status, error: copied.body.error }, 'to the drive')
  }
  await until(
    async () => linked.mux.streams,
    (streams) => streams === 0,
  )
})

test('previews and live terminals of a silent computer end', async () => {
  const { id, credential } = await pairedComputer(alice)
  using linked = await linkUp(server.origin, credential, silent)
  for (const caller of [alice, beyond]) {
    assert.equal((await asks['ports.dial'](id, caller)).status, 504)
    const { error } = await attached(id, caller.origin)
    assert.match(String(error?.message), /didn’t respond in time/)
  }
  await until(
    async () => linked.mux.streams,
    (streams) => streams === 0,
  )
})

test('a change whose link is closed for silence is a timeout, or offline', async () => {
  const changes: [Name, Call][] = [
    ['fs', x({ op: 'mkdir' })],
    ['fs', x({ op: 'remove' })],
    ['create_user', { body: { username: 'ada' } }],
    ['delete_user', {}],
  ]
  await Promise.all(
    changes.map(async ([name, call]) => {
      const { id, credential } = await pairedComputer(alice)
      const request = Promise.withResolvers<void>()
      using linked = await linkUp(server.origin, credential, ({ op }) => {
        if (op.startsWith('fs.') || op.startsWith('users.')) request.resolve()
        return never
      })
      const answer = answerOf(alice, id, name, call)
      await request.promise
      linked.mux.close(CLOSE.silent, SILENT)
      const { status, body } = await answer
      assertSilent({ status, error: body.error }, name)
    }),
  )
})

test('after an unanswered rotation both credentials work', async () => {
  const { id, credential } = await pairedComputer(alice)
  let newCredential = ''
  {
    using _linked = await linkUp(server.origin, credential, ({ op, input }) => {
      if (op === 'daemon.rotate') newCredential = (input as { credential: string }).credential
      return never
    })
    const { status, body } = await alice.post(`/computers/${id}/rotate-credential`, {})
    assertSilent({ status, error: body.error }, 'rotate')
  }
  for (const each of [newCredential, credential]) {
    using _again = await linkUp(server.origin, each, silent)
  }
})
