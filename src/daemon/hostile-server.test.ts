// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { Mux, overWebSocket } from '#daemon-protocol/link.ts'
import { type OperationName, operations } from '#daemon-protocol/operations.ts'
import { encodeFrame } from '#packages/mux/frames.ts'
import { makeFolder, socketPath } from './keeper/place.ts'
import { type RunningDaemon, daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'

/** A hostile server. */
const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
after(() => server.close())
await once(server, 'listening')
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const me = { id: '01KAJ8R3T2M6QK5W9V0XBZC4DE', credential: `ukm_${'A'.repeat(43)}` }
const greeting = { protocol: 1, server_version: 'x', computer_id: me.id, epoch: 1, update: null }

const nextSocket = (): Promise<WebSocket> => new Promise((resolve) => server.once('connection', resolve))
async function greet(connection: Promise<WebSocket>): Promise<Mux> {
  const socket = await connection
  const { promise, resolve } = Promise.withResolvers<void>()
  const mux = overWebSocket(socket, { opens: 'even', onHello: () => resolve(), answer: () => Promise.resolve({}) })
  await promise
  mux.hello(greeting)
  return mux
}

test("a hostile server can't exceed what the machine’s owner allowed", async () => {
  await using home = daemonHome()
  const connection = nextSocket()
  await using daemon: RunningDaemon = await runDaemonAt(home, origin, me, {
    allows: ['fs_read'],
    roots: [join(home.folder, 'shown')],
  })
  const mux = await greet(connection)
  const asks = (op: string, input: unknown = {}) =>
    mux.open({ op: op as OperationName, input }).output.then(
      () => 'done',
      (error: { code: string }) => error.code,
    )
  for (const [op, { needs }] of Object.entries(operations)) {
    const code = await asks(op, { path: '/etc/passwd', cursor: null, limit: 1, offset: 0, length: null, archive: null })
    if (needs === null) assert.ok(['done', 'invalid_parameter'].includes(code), `${op}: ${code}`)
    else if (needs === 'fs_read') assert.notEqual(code, 'done', op)
    else assert.equal(code, 'capability_denied', op)
  }
  const marker = join(home.folder, 'ran')
  const command = { key: 'x', argv: ['/bin/touch', marker], cwd: null, env: {}, user: null, timeout_ms: null }
  assert.equal(await asks('exec', { ...command, stdin: false, from: { stdout: 0, stderr: 0 } }), 'capability_denied')
  for (const op of ['keeper.replace', 'peer.prove', '__proto__', 'constructor', 'toString', '', 'x'.repeat(5_000)])
    assert.equal(await asks(op, { command: ['/bin/touch', marker] }), 'not_supported', op.slice(0, 20))
  for (const input of [null, 7, [], { __proto__: { path: '/' } }, { path: 'x'.repeat(50_000) }])
    assert.equal(await asks('fs.stat', input), 'invalid_parameter')
  assert.equal(await asks('daemon.rotate', { credential: '../../x', overlap_seconds: 1 }), 'invalid_parameter')
  assert.equal(existsSync(marker), false)
  assert.equal(mux.closed, false)
  assert.deepEqual(daemon.messages, [`connected to ${origin}`])
})

test('a protocol violation closes the link but not the daemon, which reconnects', async () => {
  await using home = daemonHome()
  let connection = nextSocket()
  await using daemon = await runDaemonAt(home, origin, me)
  const open = encodeFrame(2, 0, 2, 0, Buffer.from(JSON.stringify({ op: 'daemon.probe', input: {} })))
  for (const frames of [[Buffer.alloc(3)], [open, open], [Buffer.alloc(70_000)]]) {
    const socket = await connection
    connection = nextSocket()
    socket.on('error', () => {})
    const closeCode = new Promise<number>((resolve) => socket.once('close', resolve))
    socket.send(encodeFrame(1, 0, 0, 0, Buffer.from(JSON.stringify(greeting))))
    for (const frame of frames) socket.send(frame)
    assert.ok([4002, 1009, 1006].includes(await closeCode))
  }
  const socket = await connection
  connection = nextSocket()
  const closeCode = new Promise<number>((resolve) => socket.once('close', resolve))
  const flooding = await greet(Promise.resolve(socket))
  await flooding.open({ op: 'terminal.open', input: silent }).output
  for (let i = 0; i < 1_025; i++)
    socket.send(encodeFrame(2, 0, 4 + i * 2, 0, Buffer.from(JSON.stringify({ op: 'terminal.read', input: readInput }))))
  assert.equal(await closeCode, 4002)
  const mux = await greet(connection)
  assert.ok((await mux.open({ op: 'daemon.probe', input: {} }).output).now)
  assert.ok(daemon.messages.length > 3)
})

test('the daemon abandons a server that accepts the connection and sends nothing, then retries', async () => {
  await using home = daemonHome()
  const connection = nextSocket()
  await using daemon = await runDaemonAt(home, origin, me, { beat: { everyMs: 100, deadMs: 300 } })
  const silent = await connection
  const again = nextSocket()
  await once(silent, 'close')
  const mux = await greet(again)
  assert.ok((await mux.open({ op: 'daemon.probe', input: {} }).output).now)
  assert.match(daemon.messages[0]!, /no HELLO from the server/)
})

test("an unresponsive keeper doesn't keep the daemon from its server", async () => {
  await using home = daemonHome()
  const folder = join(home.folder, 'keeper')
  makeFolder(folder)
  const hangs = createServer(() => {}).listen(socketPath(folder))
  const sockets: Socket[] = []
  hangs.on('connection', (socket) => sockets.push(socket))
  await once(hangs, 'listening')
  const connection = nextSocket()
  await using daemon = await runDaemonAt(home, origin, me)
  const mux = await greet(connection)
  assert.ok((await mux.open({ op: 'daemon.probe', input: {} }).output).now)
  assert.match(daemon.messages[0]!, /keeper process isn't responding: ./)
  hangs.close()
  for (const socket of sockets) socket.destroy()
})

/** A terminal without output: readers wait. */
const silent = {
  terminal_id: 'silent',
  argv: ['/bin/sleep', '60'],
  cwd: null,
  env: {},
  user: null,
  cols: 80,
  rows: 24,
  name: null,
}
const readInput = { terminal_id: 'silent', from: 0, max_bytes: 1, wait_ms: 30_000, screen: false }
