import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { AskedStream } from '#daemon-protocol/link.ts'
import { Refusal } from '#core/errors.ts'
import {
  call,
  exec,
  hasExited,
  openTerminal,
  ran,
  startKeeper,
  type TestKeeper,
  execInput,
  withWord,
} from '#test/computers/keeper.ts'
import { until } from '#test/until.ts'
import { LinkLost, StreamReset } from '#packages/mux/stream.ts'

let keeper: TestKeeper
before(async () => (keeper = await startKeeper()))
after(() => keeper[Symbol.asyncDispose]())

const sh = (script: string): string[] => ['sh', '-c', script]

test('a command receives its arguments, folder and environment and returns its exit code and both outputs', async () => {
  const script = 'pwd; echo "$WORD"; echo to stderr > /dev/stderr; read line || echo no stdin; exit 7'
  const { end, stdout, stderr } = await exec(
    keeper.client,
    execInput('plain', sh(script), { cwd: '/usr', env: { WORD: 'a b' } }),
  )
  assert.equal(stdout, '/usr\na b\nno stdin\n')
  assert.equal(stderr, 'to stderr\n')
  assert.deepEqual([end.exit_code, end.signal, end.timed_out], [7, null, false])
  assert.deepEqual([end.stdout_bytes, end.stderr_bytes], [stdout.length, stderr.length])
})

test('nothing of the keeper’s environment or terminals reaches a command', async () => {
  for (const id of ['x', 'y', 'z']) await openTerminal(keeper.client, `hidden-${id}`)
  const { stdout } = await exec(keeper.client, execInput('leaks', sh('ls -l /proc/self/fd; env')))
  assert.doesNotMatch(stdout, /ptmx|\/pts\/|UKIYO|UK_PAIR|socket:/)
  for (const id of ['x', 'y', 'z'])
    await call(keeper.client, 'terminal.close', { terminal_id: `hidden-${id}`, signal: null })
})

test('a missing or non-executable program ends as in a shell', async () => {
  const { end, stderr } = await exec(keeper.client, execInput('absent', ['no-such-program']))
  assert.deepEqual([end.exit_code, stderr], [127, 'no-such-program: command not found\n'])
  assert.equal((await exec(keeper.client, execInput('forbidden', ['/etc/passwd']))).end.exit_code, 126)
})

test('a missing folder is rejected', async () => {
  await assert.rejects(exec(keeper.client, execInput('nowhere', ['true'], { cwd: '/no/such' })), {
    code: 'invalid_parameter',
  })
})

test(
  'a command run as another user has that user’s name, groups and home, and none of the daemon’s environment',
  { skip: process.getuid?.() !== 0 },
  async () => {
    const { stdout } = await exec(
      keeper.client,
      execInput('user', sh('id -un; id -gn; echo "$USER $HOME" > /dev/stdout; env | grep -c ^UK_RUN_ID'), {
        user: 'daemon',
      }),
    )
    assert.equal(stdout, 'daemon\ndaemon\ndaemon /usr/sbin\n1\n')
    await assert.rejects(exec(keeper.client, execInput('nobody-known', ['true'], { user: 'no-such-user' })), {
      code: 'invalid_parameter',
    })
  },
)

test('after a broken link stdin and outputs resume at their offsets', async () => {
  const first = keeper.another()
  const begun = await first.open('exec', execInput('cat', ['cat'], { stdin: true }))
  await begun.write(Buffer.from('hello '))
  const output: string[] = []
  const cut = (async () => {
    for await (const incoming of begun) {
      if (incoming.type !== 'bytes') continue
      output.push(Buffer.from(incoming.bytes).toString())
      await first.close()
    }
  })()
  await assert.rejects(cut, LinkLost)
  assert.equal(output.join(''), 'hello ')
  const again = await keeper.client.open(
    'exec',
    execInput('cat', ['cat'], { stdin: true, from: { stdout: 6, stderr: 0 } }),
  )
  const first_event = await again[Symbol.asyncIterator]().next()
  assert.equal((first_event.value as { event: { stdin: number } }).event.stdin, 6)
  // Resent bytes are read only once.
  await again.write(Buffer.from('o world'), 0, 4)
  again.finish()
  const { end, stdout } = await ran(again)
  assert.equal(stdout, 'world')
  assert.deepEqual([end.exit_code, end.stdout_bytes], [0, 11])
})

test('a program waits for a slow reader, and no output is lost', async () => {
  const bytes = 20_000_000
  const caller = keeper.another()
  const unread = await caller.open('exec', execInput('waits', sh(`head -c ${bytes} /dev/zero; echo done >&2`)))
  const event = await unread[Symbol.asyncIterator]().next()
  const { pid } = (event.value as { event: { pid: number } }).event
  // A command with the same output that starts later, and whose caller reads it, finishes.
  await exec(keeper.client, execInput('read', sh(`head -c ${bytes} /dev/zero`)))
  assert.doesNotThrow(() => process.kill(pid, 0), 'it has not ended')
  await caller.close()
  const { end, stdout, stderr } = await exec(keeper.client, execInput('waits', ['anything']))
  assert.deepEqual([stdout.length, end.stdout_bytes, stderr, end.exit_code], [bytes, bytes, 'done\n', 0])
})

test('a timed-out command is terminated, with SIGKILL if it ignores SIGTERM', async () => {
  const soft = await exec(keeper.client, execInput('soft', ['sleep', '1000'], { timeout_ms: 100 }))
  assert.deepEqual([soft.end.exit_code, soft.end.signal, soft.end.timed_out], [null, 'SIGTERM', true])
  const word = randomUUID()
  const script = `trap "" TERM; sh -c 'trap "" TERM; sleep 1000' ${word} & wait; wait`
  // Long enough that both have set their traps, on a busy machine too.
  const hard = await exec(keeper.client, execInput('hard', sh(script), { timeout_ms: 6_000 }))
  assert.deepEqual([hard.end.exit_code, hard.end.signal, hard.end.timed_out], [null, 'SIGKILL', true])
  assert.ok(hard.end.duration_ms >= 8_000)
  assert.deepEqual(withWord(word), [])
})

test('every process of a command ends with it, however it tries to hide', async () => {
  const word = randomUUID()
  const left = `sh -c 'sleep 1000; :' ${word}`
  const script = [
    `${left} &`,
    `setsid ${left} &`,
    `setsid sh -c "${left.replaceAll('"', '')}" >/dev/null 2>&1 </dev/null &`,
    `(setsid ${left} >/dev/null 2>&1 </dev/null &) &`,
    `env -i /usr/bin/setsid ${left} &`,
    `while [ $(grep -lsa ${word} /proc/[0-9]*/cmdline | wc -l) -lt 5 ]; do sleep 0.05; done`,
    'echo main is done',
  ].join('\n')
  const { end, stdout } = await exec(keeper.client, execInput('starts', sh(script)))
  assert.deepEqual([stdout, end.exit_code], ['main is done\n', 0])
  await until(
    async () => withWord(word),
    (left) => left.length === 0,
  )
})

test('a leftover process outside the group and without pipes is found a moment later', async () => {
  const word = randomUUID()
  await exec(keeper.client, execInput('hides', sh(`setsid sh -c 'sleep 1000; :' ${word} >/dev/null 2>&1 </dev/null &`)))
  await until(
    async () => withWord(word),
    (left) => left.length === 0,
  )
})

test('signals reach the command, and a kill without a signal terminates it', async () => {
  const trap = sh('trap "echo got INT; exit 9" INT; echo ready; while :; do sleep 0.05; done')
  for (const [key, signal, expected] of [
    ['int', 'SIGINT', [9, null]],
    ['term', null, [null, 'SIGTERM']],
  ] as const) {
    const ready = Promise.withResolvers<void>()
    const follower = keeper.another()
    const all = ran(await keeper.client.open('exec', execInput(key, trap)))
    const reader = (async () => {
      for await (const item of await follower.open('exec', { ...execInput(key, trap), joins: true }))
        if (item.type === 'bytes') ready.resolve()
    })()
    await ready.promise
    assert.deepEqual(await call(keeper.client, 'exec.kill', { key, signal }), { found: true })
    const { end } = await all
    assert.deepEqual([end.exit_code, end.signal, end.timed_out], [...expected, false])
    await reader
  }
  assert.deepEqual(await call(keeper.client, 'exec.kill', { key: 'int', signal: null }), { found: false })
})

test('a command whose caller died is terminated once it has had no reader for its time', async () => {
  const caller = keeper.another()
  const left = await caller.open('exec', execInput('alone', ['sleep', '1000'], { alone_ms: 300 }))
  const { value } = await left[Symbol.asyncIterator]().next()
  const { pid } = (value as { event: { pid: number } }).event
  await caller.close()
  await until(async () => hasExited(pid), Boolean)
  const { end } = await exec(keeper.client, execInput('alone', ['false']))
  assert.deepEqual([end.exit_code, end.signal, end.timed_out], [null, 'SIGTERM', false])
  const result = await exec(keeper.client, execInput('followed', ['sleep', '1'], { alone_ms: 300 }))
  assert.equal(result.end.exit_code, 0)
})

test('an additional reader gets all output, exerts no backpressure and doesn’t affect the command', async () => {
  const file = `${keeper.folder}/joined`
  const input = execInput('joined', sh(`echo one; while [ ! -e ${file} ]; do sleep 0.02; done; echo two; exit 6`))
  const join = (): Promise<AskedStream<'exec'>> => keeper.another().open('exec', { ...input, joins: true })
  await assert.rejects((await join()).output, { code: 'not_found' })
  const caller = exec(keeper.client, input)
  const left = async (): Promise<unknown> => {
    const leaves = await join()
    for await (const item of leaves) if (item.type === 'bytes') leaves.reset('left')
    return leaves.output
  }
  // The command may not have started yet.
  await until(
    () => left().catch((error: unknown) => error),
    (why) => why instanceof StreamReset,
  )
  const stays = ran(await join())
  writeFileSync(file, '')
  for (const { stdout, end } of [await caller, await stays])
    assert.deepEqual([stdout, end.exit_code], ['one\ntwo\n', 6])
})

test('a key runs once: with concurrent requests, with a retry, and after its output was dropped', async () => {
  const file = `${keeper.folder}/count`
  const input = execInput('once', sh(`echo ran >> ${file}; echo output`))
  const two = await Promise.allSettled([exec(keeper.client, input), exec(keeper.another(), input)])
  const [first] = two.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  assert.equal(first?.stdout, 'output\n')
  // Of two callers attached to the same command, the newer one wins.
  for (const one of two) if (one.status === 'rejected') assert.ok(one.reason instanceof LinkLost)
  const again = await exec(keeper.another(), input)
  assert.deepEqual([again.stdout, again.end], ['output\n', first.end])
  assert.equal(readFileSync(file, 'utf8'), 'ran\n')
})

test('after a keeper was killed, exits are accurate, running commands are lost and dead, and nothing runs again', async () => {
  await using other = await startKeeper()
  const word = randomUUID()
  const result = await exec(other.client, execInput('ended', sh('exit 4')))
  const running = await other.client.open(
    'exec',
    execInput('running', sh(`echo ran >> ${other.folder}/count; setsid sh -c 'sleep 1000; :' ${word} & sleep 1000`)),
  )
  const rejection = assert.rejects(ran(running), LinkLost)
  await until(
    async () => withWord(word),
    (found) => found.length > 0,
  )
  await other.kill()
  await rejection
  const again = await exec(other.client, execInput('ended', ['false']))
  assert.deepEqual(again.end, result.end)
  for (let time = 0; time < 2; time++)
    await assert.rejects(exec(other.client, execInput('running', ['false'])), (error) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, error.details], ['interrupted', { lost: true }])
      return true
    })
  assert.equal(readFileSync(`${other.folder}/count`, 'utf8'), 'ran\n')
  await until(
    async () => withWord(word),
    (found) => found.length === 0,
  )
})
