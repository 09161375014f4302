/**
 * The plan of every statement that a walk through the contract makes. PostgreSQL is not allowed to read whole tables here,
 * so a column that is compared under a cast although an index has it shows in the plan: at a million rows it costs a minute.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { loadContracts } from '#areas/contracts.ts'
import { list } from '#kernel/registry.ts'
import { newId } from '#kernel/ids.ts'
import { pathNames } from '#kernel/contract.ts'
import { makers } from '../makers.ts'
import { testServer } from '../server.ts'
import { pathOf, required, validBody } from './least-call.ts'

/** The statements that this process sent, with the values of their last use. */
const statements = new Map<string, readonly unknown[]>()
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  const [first, values] = given as [string | { text?: string; values?: unknown[] }, unknown]
  const text = typeof first === 'string' ? first : first?.text
  if (text !== undefined && /^\s*(?:select|with|insert|update|delete)\b/i.test(text))
    statements.set(text, typeof first === 'string' ? (Array.isArray(values) ? values : []) : (first.values ?? []))
  return query.apply(this, given as never)
} as typeof query

/** A column under a cast: `(r.id)::text`, `(created_at)::date`. */
const CAST =
  /\((?:\w+\.)?"?(\w+)"?\)::(text|numeric|double precision|date|timestamp without time zone|character varying)\b/g

interface Plan {
  [field: string]: unknown
  Plans?: Plan[]
}

function* conditionsOf(plan: Plan): Generator<string> {
  for (const [field, value] of Object.entries(plan))
    if (/ Cond$|Filter$/.test(field) && typeof value === 'string') yield value
  for (const one of plan.Plans ?? []) yield* conditionsOf(one)
}

test('no statement compares an indexed column under a cast', async () => {
  await using server = await testServer({
    environment: { UK_LIMIT_READS: '0', UK_LIMIT_WRITES: '0', UK_LIMIT_SEARCHES: '0' },
  })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const key = await alice.key()
  const things = new Map<string, string>()
  for (const [kind, make] of Object.entries(makers)) things.set(kind, await make(alice))
  for (const { endpoint } of list(await loadContracts())) {
    // What isn't a read may take away what the others need.
    if (endpoint.refused !== undefined || endpoint.takes === 'bytes' || endpoint.method === 'DELETE') continue
    if (endpoint.reply.kind === 'stream' || endpoint.auth === 'sign_in' || /sign-out|password/.test(endpoint.path))
      continue
    const names = pathNames(endpoint.path)
    const id = names.length === 0 ? '' : (things.get(endpoint.on ?? '') ?? newId())
    const at = pathOf(endpoint, id) + required(endpoint)
    const body = endpoint.method === 'GET' ? undefined : validBody(endpoint)
    await (endpoint.auth === 'session' ? alice : key).request(endpoint.method, at, body)
    if (endpoint.method === 'GET') await bob.request(endpoint.method, at)
  }
  await server.app.engine.requestLog.flush()
  const sent = new Map(statements)
  assert.ok(sent.size > 200, `${sent.size} statements were recorded`)

  const client = new pg.Client(server.database.connection as pg.ClientConfig)
  await client.connect()
  const wrong: string[] = []
  let explained = 0
  try {
    const indexed = new Set(
      (
        await client.query<{ name: string }>(
          `select distinct a.attname as name from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
            join pg_class c on c.oid = i.indrelid join pg_type t on t.oid = a.atttypid
            where c.relnamespace = 'public'::regnamespace and t.typname not in ('text', 'varchar')`,
        )
      ).rows.map(({ name }) => name),
    )
    await client.query('begin; set local enable_seqscan = off; set local plan_cache_mode = force_generic_plan')
    for (const [text, values] of sent) {
      await client.query('savepoint one')
      try {
        const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(`explain (format json) ${text}`, [
          ...values,
        ])
        explained += 1
        for (const condition of conditionsOf(rows[0]!['QUERY PLAN'][0]!.Plan))
          for (const [cast, column] of condition.matchAll(CAST))
            if (indexed.has(column!))
              wrong.push(`${cast} in ${condition}\n  of ${text.replaceAll(/\s+/g, ' ').slice(0, 300)}`)
      } catch {
        // A table of a session, or a function that only a call has.
      }
      await client.query('rollback to one')
    }
  } finally {
    await client.end()
  }
  assert.ok(explained > sent.size * 0.9, `${explained} of ${sent.size} statements were explained`)
  assert.deepEqual(wrong, [])
})
