import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasExited, keeperCommand, openTerminal, startKeeper, execInput, withWord } from '#test/computers/keeper.ts'
import { temporaryDir } from '#test/program.ts'
import { until } from '#test/until.ts'
import { bootId } from '../machine.ts'
import { KeeperClient } from './client.ts'
import { addressOf } from './place.ts'

/** Sleep durations that no other process on this machine uses. */
const left1 = String(4_000_000 + process.pid)
const left2 = String(5_000_000 + process.pid)

/** A program that ignores every signal it can. Its children must end for a command, and may survive a terminal. */
const stubborn = (word: string, starts = 'true'): string[] => [
  'sh',
  '-c',
  `trap '' HUP TERM; ${starts}; while :; do sleep 0.2; done`,
  word,
]

test('commands left by a killed keeper are terminated, even if further keepers are killed meanwhile', async () => {
  await using keeper = await startKeeper()
  const { client } = keeper
  const command = await client.open('exec', execInput('left', stubborn(left1, `setsid sleep ${left1} & :`)))
  await command[Symbol.asyncIterator]().next()
  await openTerminal(client, 'left', stubborn(left2))
  const left = (): string[] => [left1, left2].flatMap(withWord)
  await until(
    async () => left().length,
    (count) => count === 3,
  )
  for (let kills = 0; kills < 3; kills++) {
    await keeper.kill()
    await client.hello()
  }
  await until(
    async () => left().length,
    (count) => count === 0,
  )
  await assert.rejects((await client.open('exec', execInput('left', ['true']))).output, { code: 'interrupted' })
})

/** An unrelated program, the leader of another session. */
function bystander(): ChildProcess & Disposable {
  const child = spawn('sleep', ['7003'], { detached: true, stdio: 'ignore' })
  return Object.assign(child, { [Symbol.dispose]: () => void child.kill('SIGKILL') })
}

test('a pid reused by another program, during this boot or after a reboot, is left alone', async () => {
  using folder = temporaryDir('keeper-')
  const keeper = join(folder.path, 'keeper')
  mkdirSync(keeper)
  const bystanders = [bystander(), bystander()]
  using _all = { [Symbol.dispose]: () => bystanders.forEach((one) => one[Symbol.dispose]()) }
  const facts = [bootId(), 'the boot before'].flatMap((boot, at) => {
    const key = `key ${at}`
    const mark = `no such mark ${at}`
    const trace = { pid: bystanders[at]!.pid, started: '1', at: 0, mark, pipes: [] }
    return [
      { key, at: Date.now(), mark, boot },
      { key, trace },
    ]
  })
  writeFileSync(join(keeper, 'commands.jsonl'), facts.map((fact) => `${JSON.stringify(fact)}\n`).join(''))
  const client = new KeeperClient({ folder: keeper, command: keeperCommand })
  const { pid } = await client.hello()
  for (const at of [0, 1])
    await assert.rejects((await client.open('exec', execInput(`key ${at}`, ['true']))).output, { code: 'interrupted' })
  // It stays until it has ended what there was to end.
  await client.close()
  await until(async () => hasExited(pid), Boolean)
  for (const { exitCode, signalCode } of bystanders) assert.deepEqual([exitCode, signalCode], [null, null])
})

test('daemons with different environments find the same keeper, and commands get the latest environment', async () => {
  using short = temporaryDir('run-')
  const folder = join(short.path, 'x'.repeat(100), 'keeper')
  mkdirSync(folder, { recursive: true })
  const environment = { PATH: `/opt/one:${process.env.PATH}`, XDG_RUNTIME_DIR: short.path }
  const first = new KeeperClient({ folder, command: keeperCommand, surroundings: () => environment })
  const path = async (client: KeeperClient, key: string): Promise<string> => {
    const stream = await client.open('exec', execInput(key, ['sh', '-c', 'echo "$PATH $LANG $SECRET"']))
    const parts: Buffer[] = []
    for await (const item of stream) if (item.type === 'bytes') parts.push(Buffer.from(item.bytes))
    return Buffer.concat(parts).toString().trim()
  }
  const { keeper_id, pid } = await first.hello()
  assert.equal(await path(first, 'one'), environment.PATH)
  assert.ok(addressOf(folder).length < 108)
  await first.close()
  // A service that was set up anew, and has another folder for sockets.
  const next = { PATH: process.env.PATH, LANG: 'C.UTF-8', SECRET: 'of whoever started the daemon' }
  const second = new KeeperClient({ folder, command: keeperCommand, surroundings: () => next })
  assert.equal((await second.hello()).keeper_id, keeper_id)
  assert.equal(await path(second, 'two'), `${next.PATH} C.UTF-8`)
  // `find` alone changes nothing.
  const looks = new KeeperClient({ folder, command: keeperCommand })
  assert.equal((await looks.find())?.keeper_id, keeper_id)
  assert.equal(await path(second, 'three'), `${next.PATH} C.UTF-8`)
  await second.close()
  await until(async () => hasExited(pid), Boolean)
})
