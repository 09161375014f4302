// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { KeeperClient } from '../client.ts'
import {
  call,
  feed,
  linesOf,
  openTerminal,
  screenOf,
  startKeeper,
  type TestKeeper,
  Viewer,
  withWord,
} from '#test/computers/keeper.ts'
import { residentBytes } from '#test/computers/memory.ts'
import { until } from '#test/until.ts'
import { CHANNEL } from '#daemon-protocol/channels.ts'
import type { Input, Output } from '#daemon-protocol/operations.ts'

let keeper: TestKeeper
before(async () => (keeper = await startKeeper()))
after(() => keeper[Symbol.asyncDispose]())

async function read(
  client: KeeperClient,
  input: Partial<Input<'terminal.read'>> & { terminal_id: string },
): Promise<Output<'terminal.read'> & { data: Buffer; snapshot: Buffer }> {
  const stream = await client.open('terminal.read', {
    from: null,
    max_bytes: 65_536,
    wait_ms: 0,
    screen: false,
    ...input,
  })
  const parts: Record<number, Buffer[]> = { [CHANNEL.body]: [], [CHANNEL.snapshot]: [] }
  for await (const incoming of stream)
    if (incoming.type === 'bytes') parts[incoming.channel]!.push(Buffer.from(incoming.bytes))
  return {
    ...(await stream.output),
    data: Buffer.concat(parts[CHANNEL.body]!),
    snapshot: Buffer.concat(parts[CHANNEL.snapshot]!),
  }
}
const status = async (id: string): Promise<Output<'terminal.open'> | undefined> =>
  (await call(keeper.client, 'terminal.list', {})).terminals.find(({ terminal_id }) => terminal_id === id)

test('a shell has job control, Ctrl-C, a size and an end with its exit code', async () => {
  await openTerminal(keeper.client, 'shell')
  const viewer = await Viewer.attach(keeper.client, 'shell')
  // Input is echoed before the shell reads it, and Ctrl-C goes to the foreground process at that time.
  viewer.type(`sh -c 'echo be""gun; exec sleep 100'\r`)
  await viewer.shows('begun')
  viewer.type('\x03')
  await viewer.shows('^C')
  viewer.type('sleep 200 &\rjobs\r')
  await viewer.shows(/Running +sleep 200/)
  viewer.size(101, 33)
  await until(
    async () => viewer.events.at(-1),
    (event) => event?.['cols'] === 101,
  )
  viewer.type('stty size; kill %1; exit 5\r')
  await viewer.shows('33 101')
  await viewer.ended
  assert.deepEqual(viewer.events.at(-1), { type: 'ended', exit_code: 5, signal: null })
  const { terminals } = await call(keeper.client, 'terminal.list', {})
  const row = terminals.find(({ terminal_id }) => terminal_id === 'shell')!
  assert.deepEqual([row.status, row.exit_code, row.cols, row.rows], ['ended', 5, 101, 33])
})

test('opening an existing id returns the same terminal, and an ended one starts no new shell', async () => {
  const first = await openTerminal(keeper.client, 'same', ['sh', '-c', 'echo once; sleep 0.3'])
  const again = await openTerminal(keeper.client, 'same', ['sh', '-c', 'echo twice'])
  assert.equal(again.created_at, first.created_at)
  await until(
    () => status('same'),
    (row) => row?.status === 'ended',
  )
  await openTerminal(keeper.client, 'same', ['sh', '-c', 'echo twice'])
  const viewer = await Viewer.attach(keeper.client, 'same')
  await viewer.ended
  assert.equal(viewer.text(), 'once')
})

test('a viewer that attaches during a full-screen program sees the same as the others', async () => {
  const draws = String.raw`printf 'before\n\033[?1049h\033[2J\033[3;20r\033[44m\033[5;5Hin the middle\033[K\033[?6h\033[2;2Hat\0337'; read a; printf '\0338here \033[?6l\033[r\033[10;1Hmore\n\n\033[Ltext'; read b; printf '\033[?1049l'; echo back; read c`
  await openTerminal(keeper.client, 'full', ['bash', '-c', draws])
  const whole = await Viewer.attach(keeper.client, 'full', 0)
  await whole.shows('in the middle')
  const lateViewer = await Viewer.attach(keeper.client, 'full', null, 'w')
  await lateViewer.shows('in the middle')
  assert.equal(lateViewer.text(), whole.text())
  whole.type('\r')
  for (const viewer of [whole, lateViewer]) await viewer.shows('text')
  assert.equal(lateViewer.text(), whole.text())
  whole.type('\r')
  for (const viewer of [whole, lateViewer]) await viewer.shows('back')
  assert.equal(lateViewer.text(), whole.text())
  assert.match(lateViewer.text(), /^before\nback/m)
})

test('a program that exits right after a lot of output loses none of it', async () => {
  const lines = 300_000
  await openTerminal(keeper.client, 'lot', ['sh', '-c', `seq 1 ${lines}`])
  const row = await until(
    () => status('lot'),
    (found) => found?.status === 'ended',
  )
  const expected = Array.from({ length: lines }, (_, at) => `${at + 1}`.length + 2).reduce((a, b) => a + b, 0)
  assert.equal(row?.offset, expected)
  const { snapshot, at, data } = await read(keeper.client, { terminal_id: 'lot', screen: true, max_bytes: 20 })
  const screen = screenOf()
  feed(screen, snapshot)
  assert.deepEqual([at, data.toString().endsWith('300000\r\n'), linesOf(screen).at(-2)], [expected, true, '300000'])
})

test('a read continues from an offset, waits for the first byte and reports what it missed', async () => {
  await openTerminal(keeper.client, 'reads', [
    'sh',
    '-c',
    'stty -echo; echo ready; read a; seq 1 400000; echo end; read b',
  ])
  const first = await until(
    () => read(keeper.client, { terminal_id: 'reads' }),
    ({ data }) => data.includes('ready'),
  )
  assert.deepEqual([first.from, first.gap, first.dropped_bytes], [0, false, 0])
  const none = await read(keeper.client, { terminal_id: 'reads', from: first.offset, wait_ms: 50 })
  assert.deepEqual([none.data.length, none.from, none.offset], [0, first.offset, first.offset])
  const waiting = read(keeper.client, { terminal_id: 'reads', from: first.offset, wait_ms: 10_000 })
  await call(keeper.client, 'terminal.write', {
    terminal_id: 'reads',
    viewer: 'w',
    data: Buffer.from('\r').toString('base64'),
    seq: null,
  })
  const next = await waiting
  assert.ok(next.data.length > 0 && '1\r\n2\r\n3\r\n'.startsWith(next.data.toString().slice(0, 3)))
  await until(
    () => read(keeper.client, { terminal_id: 'reads', max_bytes: 100 }),
    ({ data }) => data.includes('end'),
  )
  const late = await read(keeper.client, { terminal_id: 'reads', from: first.offset })
  assert.ok(late.gap)
  assert.equal(late.from - first.offset, late.dropped_bytes)
  assert.equal(late.data.length, 65_536)
})

test('a viewer resumes at its offset after its link broke, without gaps or repeats', async () => {
  const over = join(keeper.folder, 'resumes-over')
  await openTerminal(keeper.client, 'resumes', [
    'sh',
    '-c',
    `i=0; while [ ! -e ${over} ]; do i=$((i+1)); echo line $i; sleep 0.02; done; echo the last line; read a`,
  ])
  const whole = await Viewer.attach(keeper.client, 'resumes', 0)
  const screen = screenOf()
  let at = 0
  for (let time = 0; time < 5; time++) {
    const client = keeper.another()
    const viewer = await Viewer.attach(client, 'resumes', at)
    viewer.screen = screen
    const from = at
    await until(
      async () => viewer.offset,
      (offset) => offset > from,
    )
    await client.close()
    await viewer.ended
    assert.equal(viewer.snapshots, 0)
    at = viewer.offset
  }
  writeFileSync(over, '')
  const last = await Viewer.attach(keeper.client, 'resumes', at)
  last.screen = screen
  await last.shows('the last line')
  await whole.shows('the last line')
  assert.deepEqual(linesOf(screen), linesOf(whole.screen))
})

test('a slow viewer delays no other viewer and gets the current screen in place of what it missed', async () => {
  await openTerminal(keeper.client, 'slow', ['sh', '-c', 'echo first; read a; seq 1 500000; echo finished; read b'])
  let go = (): void => {}
  const slow = await Viewer.attach(keeper.client, 'slow')
  await slow.shows('first')
  slow.pause(new Promise((resolve) => (go = resolve)))
  const quick = await Viewer.attach(keeper.client, 'slow', null, 'q')
  quick.type('\r')
  await quick.shows('finished')
  go()
  await slow.shows('finished')
  assert.ok(slow.snapshots >= 2)
  assert.ok(slow.events.some(({ type }) => type === 'gap'))
  assert.equal(slow.text(), quick.text())
})

test('repeated input is typed once', async () => {
  await openTerminal(keeper.client, 'typed', ['cat'])
  const viewer = await Viewer.attach(keeper.client, 'typed')
  for (const seq of [1, 2, 2, 1]) viewer.type(`${seq}`, seq)
  const write = (seq: number): Promise<unknown> =>
    call(keeper.client, 'terminal.write', {
      terminal_id: 'typed',
      viewer: 'v',
      data: Buffer.from(`${seq}`).toString('base64'),
      seq,
    })
  await viewer.shows('12')
  await write(2)
  await write(3)
  const other = await Viewer.attach(keeper.client, 'typed', null, 'other')
  other.type('x', 1)
  await viewer.shows('123x')
  assert.equal(viewer.text(), '123x')
  // The terminal reports what it accepted, so no viewer resends it.
  const acknowledged = viewer.events.filter(({ type }) => type === 'typed')
  assert.deepEqual(
    acknowledged.map((event) => [event['viewer'], event['seq']]),
    [1, 2, 2, 1].map((seq) => ['v', seq]),
  )
  const keyed = (key: string, text: string): Promise<unknown> =>
    call(keeper.client, 'terminal.write', {
      terminal_id: 'typed',
      viewer: 'v',
      data: Buffer.from(text).toString('base64'),
      seq: null,
      key,
    })
  await keyed('one', 'y')
  // Over another link, under another keeper: it is known still.
  await keeper.client.replace()
  await keyed('one', 'y')
  await keyed('two', 'z')
  const after = await Viewer.attach(keeper.client, 'typed')
  await after.shows('123xyz')
  assert.equal(after.text(), '123xyz')
})

test('the smallest focused window sets the size, and attaching alone sets none', async () => {
  await openTerminal(keeper.client, 'sizes', ['cat'])
  const one = await Viewer.attach(keeper.client, 'sizes')
  const size = async (cols: number, rows: number): Promise<unknown> =>
    until(
      () => status('sizes'),
      (row) => row?.cols === cols && row.rows === rows,
    )
  one.size(100, 40)
  await size(100, 40)
  const two = await Viewer.attach(keeper.another(), 'sizes', null, 'two')
  await size(100, 40)
  two.size(90, 50)
  await size(90, 40)
  assert.deepEqual(one.events.at(-1), { type: 'resize', cols: 90, rows: 40 })
  await call(keeper.client, 'terminal.resize', { terminal_id: 'sizes', cols: 70, rows: 20 })
  await size(70, 20)
})

test('closing hangs up and kills a shell that ignores the hang-up', async () => {
  await openTerminal(keeper.client, 'closes', ['sh', '-c', 'trap "" HUP; echo ready; while :; do sleep 1; done'])
  const viewer = await Viewer.attach(keeper.client, 'closes')
  await viewer.shows('ready')
  const row = await call(keeper.client, 'terminal.close', { terminal_id: 'closes', signal: null })
  assert.deepEqual([row.status, row.signal], ['ended', 'SIGKILL'])
  await viewer.ended
  await call(keeper.client, 'terminal.close', { terminal_id: 'closes', signal: null })
  assert.equal(await status('closes'), undefined)
  await assert.rejects(call(keeper.client, 'terminal.resize', { terminal_id: 'closes', cols: 1, rows: 1 }), {
    code: 'not_found',
  })
})

test('after its keeper was killed a terminal is lost but keeps its last screen', async () => {
  await using other = await startKeeper()
  const word = randomUUID()
  await openTerminal(other.client, 'kept', null)
  await openTerminal(other.client, 'stubborn', ['sh', '-c', 'trap "" HUP; while :; do sleep 0.1; done', word])
  const viewer = await Viewer.attach(other.client, 'kept')
  viewer.type('echo still to be read\r')
  await viewer.shows('\nstill to be read')
  // Waits until both are on disk.
  const shelf = join(other.folder, 'terminals')
  const shelved = async (): Promise<number> => {
    const { terminals } = await call(other.client, 'terminal.list', {})
    const files = readdirSync(shelf).filter((name) => name.endsWith('.json'))
    const kept = files.map(
      (name) => JSON.parse(readFileSync(join(shelf, name), 'utf8')) as { row: { terminal_id: string }; at: number },
    )
    return terminals.filter((row) =>
      kept.some((one) => one.row.terminal_id === row.terminal_id && one.at === row.offset),
    ).length
  }
  await until(shelved, (count) => count === 2)
  await other.kill()
  const row = await openTerminal(other.client, 'kept', null)
  assert.deepEqual([row.status, row.exit_code, row.signal], ['lost', null, null])
  const again = await Viewer.attach(other.client, 'kept', viewer.offset)
  await again.ended
  assert.equal(again.events.at(-1)?.['type'], 'ended')
  const late = await Viewer.attach(other.client, 'kept')
  await late.ended
  assert.equal(late.text(), viewer.text())
  await until(
    async () => withWord(word),
    (left) => left.length === 0,
  )
})

test('a terminal with endless output neither grows the keeper nor delays another terminal', async () => {
  await openTerminal(keeper.client, 'noisy', ['yes'])
  await openTerminal(keeper.client, 'quiet', ['cat'])
  const noisy = await Viewer.attach(keeper.client, 'noisy')
  const quiet = await Viewer.attach(keeper.another(), 'quiet')
  await noisy.shows('y')
  const { pid } = await keeper.client.hello()
  /** Waits until the noisy terminal has produced this many more bytes. */
  const putOut = async (bytes: number): Promise<unknown> => {
    const goal = noisy.offset + bytes
    return until(
      async () => noisy.offset,
      (offset) => offset >= goal,
    )
  }
  await putOut(2_000_000)
  const before = residentBytes(pid)
  for (let key = 0; key < 15; key++) {
    quiet.type(String.fromCharCode(97 + (key % 26)))
    await quiet.shows('abcdefghijklmnopqrstuvwxyz'.repeat(2).slice(0, key + 1))
  }
  await putOut(10_000_000)
  assert.ok(residentBytes(pid) - before < 40_000_000, `${residentBytes(pid) - before} bytes more`)
  await call(keeper.client, 'terminal.close', { terminal_id: 'noisy', signal: null })
})
