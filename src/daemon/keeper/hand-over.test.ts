// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { LinkLost } from '#packages/mux/stream.ts'
import {
  call,
  exec,
  feed,
  linesOf,
  openTerminal,
  ran,
  screenOf,
  startKeeper,
  Viewer,
  execInput,
} from '#test/computers/keeper.ts'
import { until } from '#test/until.ts'

test('a shell keeps running under another keeper: variables, jobs, screen, size, input and exit code', async () => {
  await using keeper = await startKeeper()
  const { client } = keeper
  const before = await client.hello()
  await openTerminal(client, 'shell')
  const viewer = await Viewer.attach(client, 'shell')
  viewer.size(90, 20)
  viewer.type('WORD=kept; sleep 100 &\r', 1)
  await viewer.shows(/\[1\] \d+/)
  for (let generation = 1; generation <= 3; generation++) {
    const after = await client.replace()
    assert.deepEqual([after.keeper_id, after.generation, after.pid], [before.keeper_id, generation, before.pid])
  }
  assert.ok((await viewer.ended) instanceof LinkLost)
  const again = await Viewer.attach(client, 'shell', viewer.offset)
  again.screen = viewer.screen
  again.type('not typed again', 1)
  again.type('echo $WORD; stty size; jobs; exit 6\r', 2)
  await again.ended
  assert.equal(again.snapshots, 0)
  assert.match(again.text(), /\nkept\n20 90\n\[1\]\+ +Running +sleep 100/)
  assert.doesNotMatch(again.text(), /not typed again/)
  assert.deepEqual(again.events.at(-1), { type: 'ended', exit_code: 6, signal: null })
})

test('a hand-over preserves a full-screen program’s screen and an incomplete escape sequence', async () => {
  await using keeper = await startKeeper()
  const script = String.raw`printf '\033[?1049h\033[3;9r\033[?6h\033[31mred\0337\033[5;5Hhalf \033[4'; read a; printf '4mblue\0338back'; read b`
  await openTerminal(keeper.client, 'full', ['bash', '-c', script])
  const whole = await Viewer.attach(keeper.client, 'full', 0)
  await whole.shows('half')
  await keeper.client.replace()
  const rest = await Viewer.attach(keeper.client, 'full', whole.offset)
  rest.screen = whole.screen
  rest.type('\r')
  await rest.shows('back')
  const viewer = await Viewer.attach(keeper.client, 'full')
  await viewer.shows('back')
  assert.deepEqual(linesOf(viewer.screen), linesOf(rest.screen))
})

test('commands keep running after a hand-over: stdin, outputs, exit codes, timeouts and unread ends', async () => {
  await using keeper = await startKeeper()
  const { client } = keeper
  const file = `${keeper.folder}/count`
  const talk = 'echo ran >> "$0"; while read line; do echo "got $line"; echo e >&2; done; exit 3'
  const input = execInput('talk', ['sh', '-c', talk, file], { stdin: true })
  const begun = await client.open('exec', input)
  await begun.write(Buffer.from('one\n'))
  const heard = `${keeper.folder}/unheard`
  const chunk = await client.open('exec', execInput('unheard', ['sh', '-c', `echo unheard; echo > ${heard}; exit 4`]))
  chunk.lose('nobody listens')
  const blocked = await client.open('exec', execInput('blocked', ['sh', '-c', 'seq 1 1000000; exit 8']))
  const timed = await client.open('exec', execInput('timed', ['sleep', '1000'], { timeout_ms: 1_500 }))
  for (const stream of [begun, blocked, timed]) await stream[Symbol.asyncIterator]().next()
  await until(async () => existsSync(heard), Boolean)
  // A command with the same output that starts later, and whose caller reads it, finishes.
  await exec(client, execInput('read', ['seq', '1', '1000000']))
  // A command waits for who reads it, however many keepers look after it meanwhile.
  for (let time = 0; time < 3; time++) await client.replace()
  const rest = await exec(client, execInput('blocked', ['false']))
  assert.equal(rest.stdout.length, 6_888_896)
  assert.deepEqual([rest.end.exit_code, rest.end.stdout_bytes], [8, 6_888_896])
  const again = await client.open('exec', input)
  await again.write(Buffer.from('two\n'), 0, 4)
  again.finish()
  const talked = await ran(again)
  assert.deepEqual([talked.stdout, talked.stderr, talked.end.exit_code], ['got one\ngot two\n', 'e\ne\n', 3])
  const unheard = await exec(client, execInput('unheard', ['false']))
  assert.deepEqual([unheard.stdout, unheard.end.exit_code], ['unheard\n', 4])
  const late = await exec(client, execInput('timed', ['false']))
  assert.deepEqual([late.end.timed_out, late.end.signal], [true, 'SIGTERM'])
  assert.equal((await exec(client, execInput('cat', ['cat', file]))).stdout, 'ran\n')
})

test('output during a hand-over is complete', async () => {
  await using keeper = await startKeeper()
  const { client } = keeper
  await openTerminal(client, 'counts', ['sh', '-c', 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; done; read a'])
  const whole = Array.from({ length: 3_000 }, (_, at) => `${at + 1}\r\n`).join('')
  for (let time = 0, come = 0; time < 4; time++) {
    const { terminals } = await until(
      () => call(client, 'terminal.list', {}),
      ({ terminals: [row] }) => row!.offset > come || row!.offset === whole.length,
    )
    come = terminals[0]!.offset
    await client.replace()
  }
  const screen = screenOf()
  feed(screen, Buffer.from(whole))
  await until(
    () => call(client, 'terminal.list', {}),
    ({ terminals: [row] }) => row?.offset === whole.length,
  )
  const viewer = await Viewer.attach(client, 'counts', 0)
  await viewer.shows(/\b3000$/)
  assert.equal(viewer.text(), linesOf(screen).join('\n').trimEnd())
})

test('a program that can’t take over is rejected before anything changes', async () => {
  await using keeper = await startKeeper()
  const { client } = keeper
  await openTerminal(client, 'stays', ['cat'])
  const viewer = await Viewer.attach(client, 'stays')
  const older = `${keeper.folder}/older.mjs`
  writeFileSync(
    older,
    `console.error('the state has schema 1, and 0 is the newest that is known here'); process.exit(1)`,
  )
  for (const command of [['/no/such/node'], [process.execPath, older]])
    await assert.rejects(client.replace(command), { code: 'invalid_state' })
  viewer.type('still here\r')
  await viewer.shows('still here\nstill here')
  assert.equal((await client.hello()).generation, 0)
})

test('a keeper that took over right after terminals opened holds none of their slave ends', async () => {
  await using keeper = await startKeeper()
  const { client } = keeper
  const { pid } = await client.hello()
  const descriptors = (): number => readdirSync(`/proc/${pid}/fd`).length
  const before = descriptors()
  const ids = ['a', 'b', 'c', 'd']
  for (const id of ids) await openTerminal(client, id, ['cat'])
  await client.replace()
  await Promise.all(ids.map((terminal_id) => call(client, 'terminal.close', { terminal_id, signal: null })))
  await until(
    async () => descriptors(),
    (count) => count <= before,
  )
})
