import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CHANNEL } from '#daemon-protocol/channels.ts'
import type { Incoming, Stream } from '#packages/mux/stream.ts'
import { Stdin } from './stdin.ts'

const PART = 65_536

async function* parts(offset: number): AsyncGenerator<Incoming> {
  for (let at = offset; ; at += PART)
    yield { type: 'bytes', channel: CHANNEL.stdin, offset: at, bytes: new Uint8Array(PART) }
}

test('a command that reads nothing receives only what its pipe holds, however often a caller writes', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uk-stdin-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const stdin = new Stdin(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK))
  t.after(() => stdin.close())
  for (let i = 0; i < 4; i++) {
    const offset = stdin.arrived
    const calls = [1, 2, 3].map(() => stdin.takePart(parts(offset) as unknown as Stream, 20))
    assert.deepEqual(await Promise.all(calls), [false, false, false])
  }
  assert.ok(stdin.stop().length <= PART)
})

test('a call whose bytes were all accepted keeps its end, even if the command hasn’t read them in time', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'uk-stdin-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const stdin = new Stdin(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK))
  t.after(() => stdin.close())
  async function* call(): AsyncGenerator<Incoming> {
    yield { type: 'bytes', channel: CHANNEL.stdin, offset: 0, bytes: new Uint8Array(3 * PART) }
    yield { type: 'finished' }
  }
  assert.equal(await stdin.takePart(call() as unknown as Stream, 20), true)
  assert.equal(stdin.arrived, 3 * PART)
})
