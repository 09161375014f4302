/**
 * What the keeper adds: a command and a key through its socket, beside a local spawn and a local terminal; and 100 MB of
 * output in one terminal, which neither grow the keeper nor delay a key in another. Everything runs on this machine, by
 * turns where two are compared.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AskedStream } from '../../src/daemon-protocol/link.ts'
import { KeeperClient } from '../../src/daemon/keeper/client.ts'
import { openPty } from '../../src/daemon/keeper/processes/pty.ts'
import { measured, median } from '../measure/process.ts'
import type { Report } from '../report.ts'

const COMMANDS = 200
const KEYS = 400
const MEGABYTES = 100

type Row =
  | { what: 'command'; way: 'spawn' | 'keeper'; ms: number }
  | { what: 'key'; way: 'local' | 'keeper' | 'beside yes' | 'beside output'; ms: number }
  | { what: 'output'; seconds: number; cpuSeconds: number; grownMegabytes: number; megabytes: number }

export async function keeper(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'uk-bench-'))
  const client = new KeeperClient({ folder })
  const { pid } = await client.hello()
  const rows: Row[] = []
  try {
    await commands(client, rows)
    await keys(client, rows)
    await output(client, pid, rows)
  } finally {
    await client.close()
    process.kill(pid, 'SIGTERM')
    await sleep(500)
    rmSync(folder, { recursive: true, force: true })
  }
  return { name: 'keeper', rows, table: table(rows) }
}

async function commands(client: KeeperClient, rows: Row[]): Promise<void> {
  for (let at = -20; at < COMMANDS; at++) {
    const local = await timed(async () => {
      const child = spawn('true', { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      child.stdout.resume()
      child.stderr.resume()
      await new Promise((resolve) => child.once('close', resolve))
    })
    const kept = await timed(async () => {
      const stream = await client.open('exec', {
        key: `true ${at}`,
        argv: ['true'],
        cwd: '/',
        env: {},
        user: null,
        timeout_ms: null,
        stdin: false,
        from: { stdout: 0, stderr: 0 },
      })
      for await (const _ of stream);
      await stream.output
    })
    if (at >= 0) rows.push({ what: 'command', way: 'spawn', ms: local }, { what: 'command', way: 'keeper', ms: kept })
  }
}

/** A program that gives back what is typed; its terminal says nothing itself. */
const ECHO = ['sh', '-c', 'stty raw -echo; exec cat']

async function keys(client: KeeperClient, rows: Row[]): Promise<void> {
  const local = await openPty({ argv: ECHO, cwd: '/', env: { PATH: process.env['PATH']! }, owner: null }, 80, 24)
  const { write } = await import('node:fs')
  const kept = await typist(client, 'keys')
  await sleep(1_000)
  for (let at = -20; at < KEYS; at++) {
    const here = await timed(async () => {
      const back = new Promise((resolve) => local.stream.once('data', resolve))
      write(local.master, 'x', () => {})
      await back
    })
    const there = await timed(kept.key)
    if (at >= 0) rows.push({ what: 'key', way: 'local', ms: here }, { what: 'key', way: 'keeper', ms: there })
    await sleep(2)
  }
  process.kill(local.child.pid, 'SIGKILL')
  await open(client, 'yes', ['yes'])
  const watched = await client.open('terminal.attach', { terminal_id: 'yes', viewer: 'v', from: null })
  void drain(watched)
  await sleep(1_000)
  for (let at = 0; at < KEYS; at++) {
    rows.push({ what: 'key', way: 'beside yes', ms: await timed(kept.key) })
    await sleep(2)
  }
  watched.reset('seen')
  await (
    await client.open('terminal.close', { terminal_id: 'yes', signal: null })
  ).output
}

async function output(client: KeeperClient, pid: number, rows: Row[]): Promise<void> {
  const typing = await typist(client, 'beside')
  const self = measured(pid)
  // Lines as programs print them; what was read before is warm.
  const script = `head -c 10000000 /dev/zero | tr '\\0' x | fold -w 79; read a; head -c ${MEGABYTES}000000 /dev/zero | tr '\\0' x | fold -w 79; echo; echo over`
  await open(client, 'output', ['sh', '-c', script])
  const watched = await client.open('terminal.attach', { terminal_id: 'output', viewer: 'v', from: null })
  let last = performance.now()
  const seen = (async () => {
    for await (const incoming of watched) if (incoming.type === 'bytes') last = performance.now()
  })()
  while (performance.now() - last < 1_000) await sleep(100)
  const before = { cpu: self.cpuSeconds(), megabytes: self.rssMegabytes() }
  let most = before.megabytes
  const looking = setInterval(() => (most = Math.max(most, self.rssMegabytes())), 50)
  const from = performance.now()
  const over = new AbortController()
  void seen.then(() => over.abort())
  watched.event({ type: 'input', data: Buffer.from('\r').toString('base64'), seq: null })
  while (!over.signal.aborted) {
    rows.push({ what: 'key', way: 'beside output', ms: await timed(typing.key) })
    await sleep(5)
  }
  clearInterval(looking)
  rows.push({
    what: 'output',
    seconds: (performance.now() - from) / 1_000,
    cpuSeconds: self.cpuSeconds() - before.cpu,
    grownMegabytes: most - before.megabytes,
    megabytes: most,
  })
}

const open = async (client: KeeperClient, terminal_id: string, argv: string[]): Promise<unknown> =>
  (
    await client.open('terminal.open', {
      terminal_id,
      argv,
      cwd: '/',
      env: {},
      user: null,
      cols: 80,
      rows: 24,
      name: null,
    })
  ).output

async function drain(stream: AskedStream<'terminal.attach'>): Promise<void> {
  try {
    for await (const _ of stream);
  } catch {
    // It was left.
  }
}

/** Types a key into a terminal of its own, and waits until it comes back. */
async function typist(client: KeeperClient, id: string): Promise<{ key: () => Promise<void> }> {
  await open(client, id, ECHO)
  const stream = await client.open('terminal.attach', { terminal_id: id, viewer: 'v', from: 0 })
  const incoming = stream[Symbol.asyncIterator]()
  await sleep(500)
  return {
    async key() {
      stream.event({ type: 'input', data: 'eA==', seq: null })
      for (;;) {
        const { value } = await incoming.next()
        if (value?.type === 'bytes') return
      }
    },
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as Row[]
  const of = (what: 'command' | 'key', way: string): number[] =>
    rows.flatMap((row) => (row.what === what && row.way === way ? [row.ms] : [])).toSorted((a, b) => a - b)
  const at = (sorted: number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0
  const line = (name: string, times: number[]): string =>
    `| ${name} | ${median(times).toFixed(2)} | ${at(times, 0.95).toFixed(2)} | ${at(times, 0.99).toFixed(2)} |`
  const [whole] = rows.filter((row) => row.what === 'output')
  const added = median(of('command', 'keeper')) - median(of('command', 'spawn'))
  const delay = at(of('key', 'beside output'), 0.95) - at(of('key', 'keeper'), 0.95)
  return [
    '| | p50 ms | p95 ms | p99 ms |',
    '|---|--:|--:|--:|',
    line('`true`, spawned here', of('command', 'spawn')),
    line('`true`, by the keeper', of('command', 'keeper')),
    line('key, in a terminal here', of('key', 'local')),
    line('key, in a terminal of the keeper', of('key', 'keeper')),
    line('the same beside a watched `yes`', of('key', 'beside yes')),
    line(`the same beside ${MEGABYTES} MB of output`, of('key', 'beside output')),
    '',
    '| | is | goal |',
    '|---|--:|--:|',
    `| \`true\` by the keeper over a local spawn, p50 | ${added.toFixed(2)} ms | ≤ 5 ms |`,
    `| key beside \`yes\`, p95 | ${at(of('key', 'beside yes'), 0.95).toFixed(1)} ms | ≤ 10 ms |`,
    `| what ${MEGABYTES} MB of output delay a key in another terminal, p95 | ${delay.toFixed(1)} ms | ≤ 20 ms |`,
    ...(whole
      ? [
          `| the keeper grows by them | ${whole.grownMegabytes.toFixed(0)} MB, to ${whole.megabytes.toFixed(0)} MB | ≤ 20 MB |`,
          `| they take | ${whole.seconds.toFixed(1)} s, ${whole.cpuSeconds.toFixed(1)} s of CPU | – |`,
        ]
      : []),
  ].join('\n')
}
