import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { CHANNEL } from '#daemon-protocol/channels.ts'
import { LinkLost } from '#packages/mux/stream.ts'
import { call, feed, linesOf, openTerminal, screenOf, startKeeper, Viewer, execInput } from '#test/computers/keeper.ts'
import { until } from '#test/until.ts'
import type { KeeperClient } from './client.ts'

const ROUNDS = Number(process.env['UKIYO_KEEPER_ROUNDS'] ?? 200)
const LINES = 300

const pick = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)]!
const output = (key: string): string => Array.from({ length: LINES }, (_, at) => `${key} ${at + 1}\n`).join('')
const code = (round: number): number => round % 100

/** A caller that asks until it knows the end of its command, as a server does. */
async function follow(way: () => KeeperClient, key: string, round: number, file: string): Promise<'ended' | 'lost'> {
  const script = `echo ${key} >> "$0"; i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo ${key} $i; [ $((i % 50)) = 0 ] && sleep 0.05; done; exit ${code(round)}`
  let stdout = ''
  for (;;) {
    try {
      const stream = await way().open(
        'exec',
        execInput(key, ['sh', '-c', script, file], { from: { stdout: stdout.length, stderr: 0 } }),
      )
      for await (const incoming of stream)
        if (incoming.type === 'bytes' && incoming.channel === CHANNEL.stdout) {
          assert.equal(incoming.offset, stdout.length, `${key}: output follows`)
          stdout += Buffer.from(incoming.bytes).toString()
        }
      const end = await stream.output
      assert.deepEqual(
        [end.exit_code, end.signal, end.timed_out, end.stdout_bytes],
        [code(round), null, false, output(key).length],
      )
      // Its output may be gone with a keeper; its end never is.
      assert.ok(output(key).startsWith(stdout))
      return 'ended'
    } catch (error) {
      if (error instanceof Refusal && error.code === 'interrupted') return 'lost'
      if (!(error instanceof LinkLost)) throw error
    }
  }
}

/** Draws all over the screen, and never stops. */
const draws = String.raw`i=0; while :; do i=$((i+1)); printf '\033[%d;%dH\033[3%dm%s\033[K' $((i % 24 + 1)) $((i * 7 % 70 + 1)) $((i % 8)) "step $i"; [ $((i % 37)) = 0 ] && printf '\033[5;20r\033[20;1H\n\n\033[r\0337'; [ $((i % 101)) = 0 ] && printf '\033[?1049h\033[2J'; [ $((i % 101)) = 50 ] && printf '\033[?1049l'; [ $((i % 20)) = 0 ] && sleep 0.01; done`

const linesShown = (viewer: { screen: Viewer['screen'] }): string[] => linesOf(viewer.screen)

test(`${ROUNDS} rounds of kills, keeper replacements and lost connections keep exit codes and screens correct and run nothing twice`, async (context) => {
  await using keeper = await startKeeper()
  const file = `${keeper.folder}/ran`
  writeFileSync(file, '')
  let client = keeper.another()
  const counts = { kill: 0, replace: 0, cut: 0, ended: 0, lost: 0, 'lost terminals': 0, screens: 0 }
  /** All output of the terminal, as far as a viewer received it. */
  let whole = Buffer.alloc(0)
  let terminal = ''
  let viewer: Viewer | null = null

  const attach = async (): Promise<Viewer> => {
    const next = await Viewer.attach(client, terminal, whole.length)
    next.onBody = (bytes, offset) => {
      if (offset === whole.length) whole = Buffer.concat([whole, bytes])
    }
    return next
  }
  const screenAt = (offset: number): string[] => {
    const screen = screenOf()
    feed(screen, whole.subarray(0, offset))
    return linesOf(screen)
  }

  for (let round = 0; round < ROUNDS; round++) {
    if (viewer === null) {
      terminal = `terminal ${round}`
      whole = Buffer.alloc(0)
      await openTerminal(client, terminal, ['bash', '-c', draws])
      viewer = await attach()
    }
    const keys = [`a${round}`, `b${round}`]
    const ends = Promise.all(keys.map((key) => follow(() => client, key, round, file)))
    await sleep(Math.random() * 200)
    const trouble = pick(['kill', 'replace', 'cut', 'cut'] as const)
    counts[trouble]++
    if (trouble === 'kill') await keeper.kill()
    else if (trouble === 'replace') await keeper.client.replace()
    else {
      const old = client
      client = keeper.another()
      await old.close()
    }
    for (const end of await ends) {
      counts[end]++
      assert.ok(end === 'ended' || trouble === 'kill', 'only a keeper that was killed loses commands')
    }
    await viewer.ended
    const { terminals } = await call(client, 'terminal.list', {})
    const row = terminals.find(({ terminal_id }) => terminal_id === terminal)
    assert.equal(row?.status, trouble === 'kill' ? 'lost' : 'open')
    if (trouble === 'kill') {
      counts['lost terminals']++
      const last = await Viewer.attach(client, terminal)
      await last.ended
      // The screen on disk is up to two seconds old, and may be newer than the received output.
      if (last.offset <= whole.length) {
        assert.deepEqual(linesShown(last), screenAt(last.offset))
        counts.screens++
      }
      await call(client, 'terminal.close', { terminal_id: terminal, signal: null })
      viewer = null
      continue
    }
    viewer = await attach()
    const joined = await Viewer.attach(client, terminal, null, 'joined')
    await until(
      async () => joined.snapshots,
      (snapshots) => snapshots === 1,
    )
    const snapshot = joined.atSnapshot!
    await until(
      async () => whole.length,
      (length) => length >= snapshot.at,
    )
    assert.deepEqual(snapshot.lines, screenAt(snapshot.at))
    counts.screens++
    joined.stream.reset('seen')
    await joined.ended
  }
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  assert.equal(new Set(lines).size, lines.length, 'nothing ran twice')
  assert.ok(lines.length >= counts.ended)
  context.diagnostic(JSON.stringify({ rounds: ROUNDS, ...counts }))
})
