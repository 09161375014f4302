/**
 * Cloud computers: from the request to the answer of the first command, made new and started again, interleaved with a
 * plain `bwrap` that runs the same command. The computers are deleted between the rounds.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Ours, startOurs } from '../measure/ours.ts'
import { median } from '../measure/process.ts'
import type { Report } from '../report.ts'

const ROUNDS = 30

export async function cloud(): Promise<Report> {
  const rows: Record<string, unknown>[] = []
  await using ours = await startOurs({ UK_COMPUTER_DRIVERS: 'bubblewrap' })
  const call = caller(ours)
  try {
    // What is placed once, and what the first one warms.
    await call('DELETE', `/computers/${await make(call)}`)
    for (let round = 0; round < ROUNDS; round++) {
      const plainMs = plain()
      const from = performance.now()
      const id = await make(call)
      const madeMs = performance.now() - from
      await first(call, id)
      const createMs = performance.now() - from
      await call('POST', `/computers/${id}/stop`)
      await settled(call, id, 'stopped')
      const again = performance.now()
      await call('POST', `/computers/${id}/start`)
      await settled(call, id, 'running')
      await first(call, id)
      rows.push({ round, plainMs, madeMs, createMs, startMs: performance.now() - again })
      await call('DELETE', `/computers/${id}`)
    }
  } finally {
    removeHost(ours)
  }
  return { name: 'cloud', rows, table: table(rows) }
}

type Call = (method: string, path: string, body?: object) => Promise<any>

const caller =
  ({ origin, key }: Ours): Call =>
  async (method, path, body) => {
    const response = await fetch(`${origin}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return ((await response.json()) as { data: unknown }).data
  }

async function make(call: Call): Promise<string> {
  let operation = await call('POST', '/app/computers', { name: 'Bench' })
  while (operation.status === 'queued' || operation.status === 'running')
    operation = await call('GET', `/operations/${operation.id}/await?since_status=${operation.status}`)
  if (operation.status !== 'succeeded') throw new Error(JSON.stringify(operation.error))
  return operation.result.id
}

async function first(call: Call, id: string): Promise<void> {
  const { stdout } = await call('POST', `/computers/${id}/exec`, { command: 'echo first' })
  if (stdout !== 'first\n') throw new Error(`it said ${stdout}`)
}

async function settled(call: Call, id: string, lifecycle: string): Promise<void> {
  while ((await call('GET', `/computers/${id}`)).lifecycle !== lifecycle)
    await new Promise((resolve) => setTimeout(resolve, 2))
}

const LINE = '--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --cap-drop ALL --clearenv'

/** A sandbox of the same kind without anything of ours in it. */
function plain(): number {
  const from = performance.now()
  const binds = ['--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib']
  const rest = ['--symlink', 'usr/lib64', '/lib64', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp']
  const line = [...LINE.split(' '), ...binds, ...rest, '--', 'sh', '-c', 'echo first']
  const { stdout, stderr } = spawnSync('bwrap', line, { encoding: 'utf8' })
  if (stdout !== 'first\n') throw new Error(`bwrap said ${stdout} ${stderr}`)
  return performance.now() - from
}

/** As root its homes lie outside of the data dir, which others may not pass through. */
function removeHost({ dataDir }: Ours): void {
  const id = readFileSync(join(dataDir, 'computers/host'), 'utf8').trim()
  if (/^[0-9a-f-]{36}$/.test(id)) rmSync(join('/var/lib/ukiyo-computers', id), { recursive: true, force: true })
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as { plainMs: number; madeMs: number; createMs: number; startMs: number }[]
  const line = (title: string, of: (row: (typeof rows)[number]) => number, goal: string): string => {
    const sorted = rows.map(of).toSorted((a, b) => a - b)
    return `| ${title} | ${median(sorted).toFixed(0)} | ${sorted[Math.ceil(sorted.length * 0.95) - 1]!.toFixed(0)} | ${goal} |`
  }
  return [
    '| ms | p50 | p95 | goal, p50 |',
    '|---|--:|--:|--:|',
    line('plain `bwrap`, one command', (row) => row.plainMs, '–'),
    line('a new computer, from the request until it runs', (row) => row.madeMs, '–'),
    line('a new computer, from the request to its first command’s answer', (row) => row.createMs, '≤ 300'),
    line('a stopped one, from the request to its first command’s answer', (row) => row.startMs, '–'),
  ].join('\n')
}
