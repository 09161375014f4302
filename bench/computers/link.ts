/**
 * The link of computers: bytes each way and a key beside them, over the frames of this project and over a bare WebSocket, each
 * end on a core of its own, built as it is shipped; and what machines cost that are linked and idle.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'vite'
import { startOurs } from '../measure/ours.ts'
import { median, root, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'

const ROUNDS = 3
const MEGABYTES = 500
const IDLE = 200
/** So many that what their linking leaves to the collector is collected: 200 leave 32 MB, a young generation full of it. */
const MANY = 600
const IDLE_SECONDS = 45
const FAR_CORE = 0
const NEAR_CORE = 1

export async function link(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-bench-'))
  const rows: Record<string, unknown>[] = []
  try {
    await build({
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true },
      build: {
        ssr: true,
        outDir: folder,
        rolldownOptions: { input: ['far', 'near'].map((name) => join(root, `bench/computers/${name}.ts`)) },
      },
    })
    for (let round = 0; round < ROUNDS; round++) for (const how of ['mux', 'ws']) rows.push(await transfer(folder, how))
    rows.push(await idle(folder))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return { name: 'link', rows, table: table(rows) }
}

async function transfer(folder: string, how: string): Promise<Record<string, unknown>> {
  await using far = await startMeasurable([process.execPath, join(folder, 'far.js'), how], {
    ready: /ready (\d+)/,
    core: FAR_CORE,
  })
  const words = [String(NEAR_CORE), process.execPath, join(folder, 'near.js'), how, String(far.port), String(MEGABYTES)]
  const near = promisify(execFile)('taskset', ['-c', ...words])
  let farMegabytes = 0
  const watching = setInterval(() => (farMegabytes = Math.max(farMegabytes, far.rssMegabytes())), 20)
  const { stdout } = await near.finally(() => clearInterval(watching))
  return { part: 'transfer', ...(JSON.parse(stdout) as object), farMegabytes }
}

async function idle(folder: string): Promise<Record<string, unknown>> {
  await using ours = await startOurs({ UK_LIMIT_LOGINS: '0' }, FAR_CORE)
  const { server, origin, key } = ours
  const program = join(root, 'bench/computers/idle.ts')
  const paired = await promisify(execFile)(process.execPath, [program, 'pair', origin, key, String(MANY)])
  const credentials = JSON.parse(paired.stdout) as string[]
  const machines = (some = credentials.slice(0, IDLE)) => {
    const file = join(folder, 'credentials.json')
    writeFileSync(file, JSON.stringify(some))
    return startMeasurable([process.execPath, program, 'link', origin, file, String(some.length)], {
      ready: /ready (\d+)/,
      core: NEAR_CORE,
    })
  }
  // The memory that a server grows to when it first works hard is not counted as a machine's.
  {
    await using _first = await machines()
  }
  // The timers of links that are gone hold them for as long.
  await pause(20_000)
  const alone = await share(IDLE_SECONDS / 3)
  const before = await least(IDLE_SECONDS / 3)
  await using _some = await machines()
  await pause(5_000)
  const cpuShare = await share(IDLE_SECONDS)
  await using _rest = await machines(credentials.slice(IDLE))
  const kbEach = (((await least(IDLE_SECONDS)) - before) * 1_024) / MANY
  return { part: 'idle', computers: IDLE, many: MANY, kbEach, alone, cpuShare }

  async function least(seconds: number): Promise<number> {
    let megabytes = Infinity
    for (const until = performance.now() + seconds * 1_000; performance.now() < until; await pause(100))
      megabytes = Math.min(megabytes, server.rssMegabytes())
    return megabytes
  }

  async function share(seconds: number): Promise<number> {
    const cpu = server.cpuSeconds()
    await pause(seconds * 1_000)
    return (server.cpuSeconds() - cpu) / seconds
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

interface Keys {
  p50: number
  p95: number
}

export function table(rows: Record<string, unknown>[]): string {
  const of = (name: string) => rows.filter((row) => row.part === 'transfer' && row.name === name)
  const mid = (name: string, field: string) => median(of(name).map((row) => Number(row[field])))
  const key = (name: string, field: string, at: keyof Keys) => median(of(name).map((row) => (row[field] as Keys)[at]))
  const most = (name: string) => Math.max(mid(name, 'mostMegabytes'), mid(name, 'farMegabytes'))
  const quiet = rows.find((row) => row.part === 'idle')
  const line = (title: string, name: string) =>
    `| ${title} | ${mid(name, 'up').toFixed(0)} | ${mid(name, 'down').toFixed(0)} | ${mid(name, 'cpuUp').toFixed(2)} | ${mid(name, 'cpuDown').toFixed(2)} | ${key(name, 'alone', 'p95').toFixed(1)} | ${key(name, 'beside', 'p50').toFixed(1)} | ${key(name, 'beside', 'p95').toFixed(1)} | ${most(name).toFixed(0)} |`
  return [
    '| 500 MB each way | up MB/s | down MB/s | CPU s up | CPU s down | key alone p95 ms | key beside both p50 ms | p95 ms | most memory MB |',
    '|---|--:|--:|--:|--:|--:|--:|--:|--:|',
    line('link', 'mux'),
    line('bare `ws`', 'ws'),
    '',
    '| | is | goal |',
    '|---|--:|--:|',
    `| 500 MB each way | ${Math.min(mid('mux', 'up'), mid('mux', 'down')).toFixed(0)} MB/s | ≥ 150 MB/s |`,
    `| memory of either end meanwhile | ${most('mux').toFixed(0)} MB | ≤ 150 MB |`,
    `| echo of a key beside a transfer each way, p95 | ${key('mux', 'beside', 'p95').toFixed(1)} ms | ≤ 10 ms |`,
    ...(quiet
      ? [
          `| a core with ${String(quiet.computers)} idle computers, and the server alone | ${(Number(quiet.cpuShare) * 100).toFixed(1)} %, ${(Number(quiet.alone) * 100).toFixed(1)} % | ≤ 2 % more |`,
          `| memory of the server for each${quiet.many === undefined ? '' : ` of ${String(quiet.many)}`} | ${Number(quiet.kbEach) < 0 ? 'less than its own ups and downs' : `${Number(quiet.kbEach).toFixed(0)} KB`} | ≤ 100 KB |`,
        ]
      : []),
  ].join('\n')
}
