/**
 * A read of one agent and a list of 25 among 100,000, ours against a minimal server that sends the bare query to the
 * same database: what the key, the limits, the access rule, the contract's shape and the entity tag cost.
 */
import pg from 'pg'
import { startTestPostgres } from '../../test/database.ts'
import { get, load } from '../measure/load.ts'
import { startOurs } from '../measure/ours.ts'
import { type Measurable, median, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'

const ROWS = 100_000
const ROUNDS = 7
const SECONDS = 2
const CONNECTIONS = 16

export async function rest(): Promise<Report> {
  const postgres = await startTestPostgres()
  const connection = { ...postgres.connection, database: 'ukiyo_template' }
  try {
    const { user, password, host, port, database } = connection
    const url = `postgres://${user}:${password as string}@localhost:${port}/${database}?host=${encodeURIComponent(host!)}`
    await using ours = await startOurs({ DATABASE_URL: url })
    await using bare = await startMeasurable([process.execPath, 'bench/rest/bare.ts', JSON.stringify(connection)], {
      ready: /ready (\d+)/,
    })
    const { id, workspaceId } = await fill(connection)
    const key = { authorization: `Bearer ${ours.key}` }
    const reads: Record<string, { name: string; server: Measurable; request: Buffer }[]> = {
      'one row': [
        { name: 'bare', server: bare, request: get(`/one/${id}`, {}) },
        { name: 'ours', server: ours.server, request: get(`/v1/agents/${id}`, key) },
      ],
      'a list of 25': [
        { name: 'bare', server: bare, request: get(`/list/${workspaceId}`, {}) },
        { name: 'ours', server: ours.server, request: get('/v1/agents', key) },
      ],
    }
    const rows: Record<string, unknown>[] = []
    for (const [read, field] of Object.entries(reads)) {
      for (const { server, request } of field)
        await load({ port: server.port, request, connections: CONNECTIONS, seconds: 1 })
      for (let round = 0; round < ROUNDS; round++)
        for (const { name, server, request } of field) {
          const before = server.cpuSeconds()
          const measured = await load({ port: server.port, request, connections: CONNECTIONS, seconds: SECONDS })
          rows.push({
            read,
            round,
            name,
            ...measured,
            cpuUs: ((server.cpuSeconds() - before) / measured.requests) * 1e6,
          })
        }
    }
    return { name: 'rest', rows, table: table(rows) }
  } finally {
    await postgres.stop()
  }
}

async function fill(connection: pg.PoolConfig): Promise<{ id: string; workspaceId: string }> {
  const client = new pg.Client(connection)
  await client.connect()
  const { rows } = await client.query<{ id: string; workspace: string }>(
    'select id, personal_workspace_id as workspace from accounts',
  )
  const { id: account, workspace } = rows[0]!
  const id = (i: string): string => `'01KA' || lpad((${i})::text, 22, '0')`
  await client.query(
    `insert into resources (id, kind, workspace_id, created_by) select ${id('i')}, 'agent', $1, $2 from generate_series(1, ${ROWS}) i`,
    [workspace, account],
  )
  await client.query(
    `insert into agents (id, name, description, system_prompt) select ${id('i')}, 'Agent ' || i, 'One of many', 'You are number ' || i from generate_series(1, ${ROWS}) i`,
  )
  await client.query('vacuum analyze resources, agents')
  await client.end()
  return { id: `01KA${String(ROWS / 2).padStart(22, '0')}`, workspaceId: workspace }
}

export function table(raw: Record<string, unknown>[]): string {
  type Row = { read: string; name: string; requests: number; seconds: number; p50: number; p99: number; cpuUs: number }
  const rows = raw as unknown as Row[]
  const of = (read: string, name: string): Row[] => rows.filter((row) => row.read === read && row.name === name)
  const mid = (list: Row[], pick: (row: Row) => number): string => median(list.map(pick)).toFixed(0)
  const rps = (row: Row): number => row.requests / row.seconds
  const reads = [...new Set(rows.map((row) => row.read))]
  return [
    '| read | server | requests/s | CPU µs/request | p50 µs | p99 µs |',
    '|---|---|--:|--:|--:|--:|',
    ...reads.flatMap((read) =>
      ['bare', 'ours'].map((name) => {
        const list = of(read, name)
        return `| ${read} | ${name} | ${mid(list, rps)} | ${mid(list, (row) => row.cpuUs)} | ${mid(list, (row) => row.p50)} | ${mid(list, (row) => row.p99)} |`
      }),
    ),
    '',
    '| ratio, median of the rounds | is | goal |',
    '|---|--:|--:|',
    ...reads.map((read) => {
      const ratio = median(of(read, 'ours').map((row, i) => rps(of(read, 'bare')[i]!) / rps(row)))
      return `| time per request, ${read}, to the bare query | ${ratio.toFixed(2)} | ≤ 2 |`
    }),
  ].join('\n')
}
