import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { proxyTo } from '#test/link/proxy.ts'
import { daemonHome, runDaemonAt } from '#test/link/run-daemon.ts'
import { machineOf, peopleAround, serverWithAlice } from '#test/computers/world.ts'
import { pairedComputer } from '#test/makers.ts'
import { type Caller } from '#test/server.ts'
import { PATIENCE_MS, until } from '#test/until.ts'

const { server, alice } = await serverWithAlice()
const { bob, carol, team } = await peopleAround(server, alice)
const { id, restart } = await machineOf(server, alice)

const ask = (body: object, caller: Caller = alice) => caller.post(`/computers/${id}/terminal`, body)
const call = async (body: object, caller: Caller = alice) => {
  const answer = await ask(body, caller)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.data
}
const open = (more: object = {}) =>
  call({ action: 'open', shell: '/bin/sh', env: { PS1: '$ ' }, name: 'work', ...more })
/** Returns all output once it matches. */
async function readUntil(terminal_id: string, holds: RegExp, caller: Caller = alice): Promise<string> {
  let all = ''
  let from = 0
  for (;;) {
    const chunk = await call({ action: 'read', terminal_id, from, wait_ms: 5_000 }, caller)
    all += chunk.data
    from = chunk.offset
    if (holds.test(all)) return all
  }
}

interface Viewer {
  socket: WebSocket
  /** All received bytes. */
  text(): string
  events: { type: string; [field: string]: unknown }[]
  closed: Promise<number>
}
async function attach(caller: Caller, terminal_id: string, query = '', of = id): Promise<Viewer> {
  const { authorization, cookie } = caller.headers
  const url = `${server.origin.replace('http', 'ws')}/v1/computers/${of}/terminals/${terminal_id}/attach${query}`
  const socket = new WebSocket(url, {
    headers: { ...(authorization && { authorization }), ...(cookie && { cookie, origin: server.origin }) },
  })
  const parts: Buffer[] = []
  const events: Viewer['events'] = []
  socket.on('message', (message: Buffer, binary) => {
    if (binary) parts.push(message)
    else events.push(JSON.parse(message.toString()))
  })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve).once('error', reject)
    socket.once('unexpected-response', (_, response) => {
      response.resume()
      reject(Object.assign(new Error('refused'), { status: response.statusCode }))
    })
  })
  return { socket, text: () => Buffer.concat(parts).toString(), events, closed }
}

test('a terminal can be opened, typed into, read by offset and viewed', async () => {
  const terminalRow = await open({ cols: 100, rows: 30 })
  const { terminal_id } = terminalRow
  assert.deepEqual(
    [terminalRow.status, terminalRow.cols, terminalRow.rows, terminalRow.name],
    ['open', 100, 30, 'work'],
  )
  await call({ action: 'write', terminal_id, data: 'echo "one $((1+1))"; stty size\r' })
  assert.match(await readUntil(terminal_id, /one 2[^]*30 100/), /one 2\r\n30 100/)
  const screen = await call({ action: 'read', terminal_id, screen: true, max_bytes: 10 })
  assert.match(screen.snapshot, /one 2/)
  assert.ok(screen.data.length <= 10 && screen.from >= screen.at - 10)
  await call({ action: 'resize', terminal_id, cols: 61, rows: 20 })
  await call({ action: 'write', terminal_id, data: 'stty size\r' })
  await readUntil(terminal_id, /20 61/)
  assert.deepEqual(
    (await call({ action: 'list' })).map((one: { terminal_id: string }) => one.terminal_id),
    [terminal_id],
  )
  await call({ action: 'write', terminal_id, data: 'exit 3\r' })
  const endedRow = await until(
    async () => (await call({ action: 'list' }))[0],
    (one) => one.status === 'ended',
  )
  assert.equal(endedRow.exit_code, 3)
  assert.match((await call({ action: 'read', terminal_id })).data, /exit 3/)
  const stranger = await ask({ action: 'read', terminal_id: 'nobody' })
  assert.equal(stranger.status, 404, stranger.text)
})

test('input with a repeated number is typed once', async () => {
  const { terminal_id } = await open()
  for (const seq of [1, 1, 2, 2]) await call({ action: 'write', terminal_id, data: `echo typed-$((${seq}*10))\r`, seq })
  const text = await readUntil(terminal_id, /typed-20\r/)
  // The shell may print its prompt between the input's echo and the output.
  assert.equal(text.match(/typed-10\r/g)?.length, 1)
  await call({ action: 'close', terminal_id })
})

test('viewers get the screen, then live output, and can resume from an offset', async () => {
  const { terminal_id } = await open()
  const first = await attach(alice, terminal_id)
  await until(
    async () => first.events,
    (events) => events.some(({ type }) => type === 'snapshot'),
  )
  first.socket.send(Buffer.from('echo ü-$((40+2))\r'))
  await until(
    async () => first.text(),
    (text) => text.includes('ü-42'),
  )
  const key = await alice.key({ scopes: ['computer:exec'] })
  const second = await attach(key, terminal_id, '?viewer=desk')
  const { data, at } = (await until(
    async () => second.events.find(({ type }) => type === 'snapshot'),
    (event) => event !== undefined,
  ))!
  assert.match(String(data), /ü-42/)
  second.socket.send(JSON.stringify({ type: 'input', data: 'echo both\r', seq: 1 }))
  second.socket.send(JSON.stringify({ type: 'input', data: 'echo both\r', seq: 1 }))
  second.socket.send(JSON.stringify({ type: 'resize', cols: 90, rows: 33 }))
  await until(
    async () => first.text(),
    (text) => /\nboth\r/.test(text),
  )
  await until(
    async () => first.events,
    (events) => events.some(({ type, cols }) => type === 'resize' && cols === 90),
  )
  const resumed = await attach(alice, terminal_id, `?from=${String(at)}`)
  await until(
    async () => resumed.text(),
    (text) => /\nboth\r/.test(text),
  )
  assert.equal(
    resumed.events.some(({ type }) => type === 'snapshot'),
    false,
  )
  assert.equal(resumed.text().match(/\nboth\r/g)?.length, 1)
  second.socket.send('nonsense')
  assert.equal(await second.closed, 1008)
  first.socket.send(Buffer.from('exit\r'))
  assert.equal(await first.closed, 1000)
  assert.deepEqual(first.events.at(-1), { type: 'ended', exit_code: 0, signal: null })
  await resumed.closed
})

test('only users with the terminal capability can attach, and losing it detaches them', async () => {
  const { terminal_id } = await open()
  const refusalOf = (caller: Caller) =>
    attach(caller, terminal_id).then(
      () => 0,
      (error: { status?: number }) => error.status,
    )
  assert.equal(await refusalOf(server.stranger), 401)
  assert.equal(await refusalOf(carol), 404)
  assert.equal(await refusalOf(bob), 404)
  await alice.post(`/computers/${id}/exposures`, { workspace_id: team, capabilities: ['exec'] })
  assert.equal(await refusalOf(bob), 403)
  await alice.patch(`/computers/${id}/exposures/${team}`, { capabilities: ['terminal'] })
  const viewer = await attach(bob, terminal_id)
  const key = await bob.key({ workspace_id: team })
  const byKey = await attach(key, terminal_id)
  viewer.socket.send(Buffer.from('echo bob-$((1+1))\r'))
  await until(
    async () => byKey.text(),
    (text) => text.includes('bob-2'),
  )
  await bob.delete(`/api-keys/${key.keyId}`)
  assert.equal(await byKey.closed, 1008)
  await alice.delete(`/computers/${id}/exposures/${team}`)
  assert.equal(await viewer.closed, 1008)
  await call({ action: 'close', terminal_id })
})

test('a terminal and its viewer survive a daemon restart', async () => {
  const { terminal_id } = await open()
  const viewer = await attach(alice, terminal_id)
  viewer.socket.send(Buffer.from('echo before-$((1+1))\r'))
  await until(
    async () => viewer.text(),
    (text) => text.includes('before-2'),
  )
  await restart()
  await until(
    async () => (await ask({ action: 'write', terminal_id, data: 'echo after-$((1+1))\r', seq: 9 })).status,
    (status) => status === 200,
  )
  await until(
    async () => viewer.text(),
    (text) => text.includes('after-2'),
  )
  assert.equal(viewer.text().match(/before-2/g)?.length, 1)
  viewer.socket.close()
  await call({ action: 'close', terminal_id })
})

test('input typed while the link is broken reaches the program once after it is back', async () => {
  await using proxy = await proxyTo(server.origin)
  await using own = daemonHome()
  const pairing = await pairedComputer(alice)
  await using _daemon = await runDaemonAt(own, proxy.origin, pairing)
  assert.ok(await server.app.engine.links.online(pairing.id, PATIENCE_MS))
  const terminal = (body: object) => alice.post(`/computers/${pairing.id}/terminal`, body)
  const response = await terminal({ action: 'open', argv: ['sh', '-c', 'stty -echo; echo ready; exec cat'] })
  const { terminal_id } = response.body.data
  const viewer = await attach(alice, terminal_id, '?viewer=desk&from=0', pairing.id)
  const sees = (what: string) =>
    until(
      async () => viewer.text(),
      (text) => text.includes(what),
    )
  await sees('ready')
  const lines: string[] = []
  for (let round = 1; round <= 4; round++) {
    // Half-open: everything sent from now on is silently lost.
    proxy.stall('now')
    const swallowed = proxy.swallowed()
    const writing = terminal({
      action: 'write',
      terminal_id,
      data: `written ${round}\r`,
      ...(round % 2 === 0 && { seq: round }),
    })
    viewer.socket.send(Buffer.from(`bytes ${round}\r`))
    viewer.socket.send(JSON.stringify({ type: 'input', data: `counted ${round}\r`, seq: round }))
    await until(
      async () => proxy.swallowed() - swallowed,
      (bytes) => bytes > 400,
    )
    proxy.cut()
    viewer.socket.send(Buffer.from(`away ${round}\r`))
    const answer = await writing
    assert.equal(answer.status, 200, answer.text)
    for (const what of ['written', 'bytes', 'counted', 'away']) {
      lines.push(`${what} ${round}`)
      await sees(`${what} ${round}`)
    }
    // Viewers only get acknowledgments of their own input.
    await until(
      async () => viewer.events.filter(({ type }) => type === 'typed').map(({ seq }) => seq),
      (seqs) => seqs.at(-1) === round,
    )
  }
  const outputLines = viewer.text().split('\r\n').slice(1, -1)
  assert.deepEqual(outputLines.toSorted(), lines.toSorted())
  const typedLines = outputLines.filter((line) => !line.startsWith('written'))
  assert.deepEqual(
    typedLines,
    [1, 2, 3, 4].flatMap((round) => ['bytes', 'counted', 'away'].map((what) => `${what} ${round}`)),
  )
  viewer.socket.close()
})

test('a viewer that doesn’t read slows neither the program nor other viewers', async () => {
  const { terminal_id } = await open()
  const slow = await attach(alice, terminal_id)
  slow.socket.pause()
  const quick = await attach(alice, terminal_id)
  quick.socket.send(Buffer.from('head -c 20000000 /dev/zero | tr "\\0" y; echo; echo all-$((1+1))\r'))
  await until(
    async () => (await call({ action: 'read', terminal_id, screen: true })).snapshot,
    (screen) => /all-2/.test(screen),
  )
  slow.socket.resume()
  await until(
    async () => slow.events.findLast(({ type }) => type === 'snapshot')?.data ?? slow.text(),
    (screen) => String(screen).includes('all-2') || slow.text().includes('all-2'),
  )
  assert.ok(
    slow.events.some(({ type }) => type === 'gap'),
    'it is told what it missed',
  )
  slow.socket.close()
  quick.socket.close()
  await call({ action: 'close', terminal_id, signal: 'SIGKILL' })
})
