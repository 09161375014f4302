/**
 * Broadcasts to thousands of subscribers on one core, beside a bare node:http that does nothing but write them; and a
 * stream of durable changes over many channels, written to the outbox as other server processes would.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { newId } from '../../src/core/ids.ts'
import { startTestPostgres } from '../../test/database.ts'
import { type Ours, startOurs } from '../measure/ours.ts'
import { type Measurable, median, pin, root, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'

export interface Scale {
  subscribers: number
  broadcasts: number
  followers: number
  channels: number
  changesPerSecond: number
  seconds: number
}

const FULL: Scale = {
  subscribers: 5_000,
  broadcasts: 20,
  followers: 1_000,
  channels: 100,
  changesPerSecond: 2_000,
  seconds: 10,
}
const SERVER_CORE = 0
const LOAD_CORE = 1
const TICK_MS = 10

interface Came {
  came: number
  misordered: number
  p50Ms: number
  p99Ms: number
  mostMs: number
}

export async function realtime(scale: Scale = FULL): Promise<Report> {
  const postgres = await startTestPostgres()
  const connection = { ...postgres.connection, database: 'ukiyo_template' }
  const { user, password, host, port, database } = connection
  const url = `postgres://${user}:${password as string}@localhost:${port}/${database}?host=${encodeURIComponent(host!)}`
  try {
    const rows: Record<string, unknown>[] = []
    {
      await using bare = await startMeasurable([process.execPath, 'bench/realtime/bare.ts'], {
        ready: /ready (\d+)/,
        core: SERVER_CORE,
      })
      rows.push({ name: 'bare', ...(await broadcasts(bare, scale, 'custom', {}, '/')) })
    }
    await using ours = await startOurs({ DATABASE_URL: url, UK_LIMIT_IN_FLIGHT: '0' }, SERVER_CORE)
    const workspaces = await workspacesOf(ours, scale.channels)
    const channel = `custom:${workspaces[0]}:bench`
    const key = { authorization: `Bearer ${ours.key}` }
    rows.push({
      name: 'ours',
      ...(await broadcasts(ours.server, scale, channel, key, `/v1/realtime/${channel}/broadcast`)),
    })
    rows.push({ name: 'ours', ...(await changes(ours.server, scale, workspaces, key, connection)) })
    return { name: 'realtime', rows, table: table(rows) }
  } finally {
    await postgres.stop()
  }
}

async function workspacesOf(ours: Ours, n: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < n; i++) {
    const response = await fetch(`${ours.origin}/v1/workspaces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${ours.key}` },
      body: JSON.stringify({ name: `Team ${i}` }),
    })
    ids.push(((await response.json()) as { data: { id: string } }).data.id)
  }
  return ids
}

async function readers(port: number, headers: Record<string, string>, count: number, channels: readonly string[]) {
  const head = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\r\n')
  const child = spawn(
    process.execPath,
    [
      join(root, 'bench/realtime/readers.ts'),
      String(port),
      head === '' ? 'X-Bench: 1' : head,
      String(count),
      channels.join(','),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  pin(child.pid!, LOAD_CORE)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  return {
    async came(): Promise<Came> {
      child.stdin.write('\n')
      return JSON.parse((await lines.next()).value as string) as Came
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const now = (): number => Number(process.hrtime.bigint() / 1_000n)

async function broadcasts(
  server: Measurable,
  { subscribers, broadcasts: n }: Scale,
  channel: string,
  headers: Record<string, string>,
  path: string,
): Promise<Record<string, unknown>> {
  // The memory that a server grows to when it first works hard is not counted as a subscriber's.
  {
    await using _first = await readers(server.port, headers, Math.ceil(subscribers / 5), [channel])
  }
  await pause(3_000)
  const before = server.rssMegabytes()
  await using all = await readers(server.port, headers, subscribers, [channel])
  await pause(3_000)
  const kbEach = ((server.rssMegabytes() - before) * 1024) / subscribers
  await all.came()
  const cpu = server.cpuSeconds()
  for (let i = 0; i < n; i++) {
    await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ event: 'tick', data: { sent: now() } }),
    })
    await pause(500)
  }
  const came = await all.came()
  if (came.came !== subscribers * n) throw new Error(`${came.came} of ${subscribers * n} broadcasts came`)
  return { part: 'broadcast', subscribers, kbEach, cpuUsEach: ((server.cpuSeconds() - cpu) * 1e6) / came.came, ...came }
}

async function changes(
  server: Measurable,
  { followers, changesPerSecond, seconds }: Scale,
  workspaces: readonly string[],
  headers: Record<string, string>,
  connection: pg.PoolConfig,
): Promise<Record<string, unknown>> {
  const channels = workspaces.map((id) => `workspace:${id}`)
  await using all = await readers(server.port, headers, followers, channels)
  const client = new pg.Client(connection)
  await client.connect()
  await pause(2_000)
  await all.came()
  const cpu = server.cpuSeconds()
  let written = 0
  const startedAt = performance.now()
  while (performance.now() - startedAt < seconds * 1000) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * changesPerSecond)
    const batch = Array.from({ length: due - written }, (_, i) => channels[(written + i) % channels.length]!)
    written = due
    if (batch.length > 0) {
      await client.query(
        `insert into outbox (id, type, channels, resource_type, resource_id, data)
         select id, 'chat.updated', array[channel], 'chat', id, json_build_object('id', id, 'sent', $3::bigint)
         from unnest($1::text[], $2::text[]) x(id, channel)`,
        [batch.map(() => newId()), batch, now()],
      )
      // As another server process wakes the relay.
      await client.query(`select pg_notify('ukiyo', 'bench000!outbox')`)
    }
    await pause(TICK_MS)
  }
  await pause(2_000)
  await client.end()
  const came = await all.came()
  const expected = (written * followers) / channels.length
  if (Math.abs(came.came - expected) > followers) throw new Error(`${came.came} of ${expected} changes came`)
  if (came.misordered > 0) throw new Error(`${came.misordered} changes came out of order`)
  return {
    part: 'changes',
    subscribers: followers,
    perSecond: written / seconds,
    cpuShare: (server.cpuSeconds() - cpu) / (seconds + 2),
    ...came,
  }
}

export function table(rows: Record<string, unknown>[]): string {
  const of = (part: string, name: string) => rows.filter((row) => row.part === part && row.name === name)
  const number = (row: Record<string, unknown>[], field: string) => median(row.map((each) => Number(each[field])))
  const ours = of('broadcast', 'ours')
  const bare = of('broadcast', 'bare')
  const durable = of('changes', 'ours')
  const line = (name: string, row: Record<string, unknown>[]) =>
    `| ${name} | ${number(row, 'subscribers')} | ${number(row, 'p50Ms').toFixed(1)} | ${number(row, 'p99Ms').toFixed(1)} | ${number(row, 'kbEach').toFixed(1)} | ${number(row, 'cpuUsEach').toFixed(1)} |`
  return [
    '| broadcast | subscribers | p50 ms | p99 ms | memory KB each | CPU µs each |',
    '|---|--:|--:|--:|--:|--:|',
    line('bare', bare),
    line('ours', ours),
    '',
    '| | is | goal |',
    '|---|--:|--:|',
    `| a broadcast reaches all, p99 | ${number(ours, 'p99Ms').toFixed(0)} ms | ≤ 250 ms |`,
    `| memory per subscriber | ${number(ours, 'kbEach').toFixed(1)} KB | ≤ 25 KB |`,
    `| ${number(durable, 'perSecond').toFixed(0)} durable changes/s to ${number(durable, 'subscribers')} subscribers in order, p99 | ${number(durable, 'p99Ms').toFixed(0)} ms | ≤ 150 ms |`,
    `| the server’s core meanwhile | ${(number(durable, 'cpuShare') * 100).toFixed(0)} % busy | – |`,
  ].join('\n')
}
