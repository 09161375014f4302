/**
 * The bench of what chats add to the gateway: the time to the first token, hundreds of runs at once on one core with
 * what their logs hold afterwards, the newest page of a long chat beside the bare query, and readers of one run.
 * `UKIYO_BENCH_SCALE` (1) makes everything as much smaller.
 */
import { get, load, post, streamLoad } from '../measure/load.ts'
import { median, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'
import { SERVER_CORE, type World, asking, completion, startWorld } from './world.ts'

const SCALE = Number(process.env.UKIYO_BENCH_SCALE ?? 1)
const sized = (full: number): number => Math.max(1, Math.ceil(full * SCALE))
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const FIRSTS = sized(60)
/** The pause between runs: what one leaves to be done, and its cost is in the books after 250 ms, is not the next one's to wait for. */
const BETWEEN_MS = 300
const RUNS = sized(500)
const RUN_EVENTS = sized(200)
const RUN_PACE_MS = 40
const MESSAGES = sized(10_000)
const PAGE_SECONDS = 2 * Math.max(0.25, Math.min(1, SCALE))
const PAGE_CONNECTIONS = 16
const READERS = sized(200)
const READ_EVENTS = sized(400)
const READ_PACE_MS = 20

type Row = Record<string, unknown> & { part: string; name: string }

export async function chats(): Promise<Report> {
  await using world = await startWorld()
  const rows: Row[] = []
  const parts = [firstTokens, manyRuns, newestPage, manyReaders]
  for (const part of parts) {
    process.stdout.write(`  ${part.name} …\n`)
    rows.push(...(await part(world)))
  }
  return { name: 'chats', rows, table: table(rows) }
}

/** One after the other, in turn through the gateway and through a chat. A row of the log must be there when it is seen. */
async function firstTokens({ ours: { server, key: secret }, key, client, chats: made }: World): Promise<Row[]> {
  const rows: Row[] = []
  const [chat] = await made(1)
  const durable: Promise<boolean>[] = []
  const isDurable = async (text: string): Promise<boolean> => {
    const [, seq, run] = /event: text\.delta\ndata: \{"seq":(\d+),"run_id":"(\w+)"/.exec(text)!
    return (await client.query('select 1 from run_events where run_id = $1 and seq = $2', [run, seq])).rowCount === 1
  }
  const contenders = [
    {
      name: 'gateway',
      request: post('/compat-a/v1/chat/completions', { authorization: `Bearer ${secret}` }, completion(5)),
    },
    {
      name: 'chat',
      request: post(
        `/v1/chats/${chat}/messages/stream`,
        key,
        JSON.stringify({ content: asking(5, 0), parent_id: null }),
      ),
      mark: 'event: text.delta',
      onFirst: (text: string) => void durable.push(isDurable(text)),
    },
  ]
  for (let round = -1; round < ROUNDS; round++)
    for (const { name, ...how } of contenders) {
      const { firstMs } = await streamLoad({ port: server.port, atOnce: 1, each: FIRSTS, pauseMs: BETWEEN_MS, ...how })
      const at = (q: number): number => firstMs[Math.min(firstMs.length - 1, Math.floor(firstMs.length * q))]!
      // The first round warms up.
      if (round >= 0) rows.push({ part: 'first token', name, round, firstP50: at(0.5), firstP99: at(0.99) })
    }
  const missing = (await Promise.all(durable)).filter((there) => !there).length
  if (missing > 0) throw new Error(`${missing} of ${durable.length} first tokens were shown before they were durable`)
  return rows
}

async function manyRuns({ ours: { server }, key, client, chats: made }: World): Promise<Row[]> {
  const rows: Row[] = []
  const body = JSON.stringify({ content: asking(RUN_EVENTS, RUN_PACE_MS), parent_id: null })
  const ids = await made(RUNS)
  for (let round = 0; round < Math.min(ROUNDS, 3); round++) {
    const before = server.cpuSeconds()
    const startedAt = performance.now()
    const { firstMs, events } = await streamLoad({
      port: server.port,
      request: (n) => post(`/v1/chats/${ids[n]}/messages/stream`, key, body),
      atOnce: RUNS,
      each: 1,
      mark: 'event: text.delta',
    })
    const seconds = (performance.now() - startedAt) / 1000
    const cpu = server.cpuSeconds() - before
    const { rows: logs } = await client.query<{ runs: number; completed: number; gapless: number; whole: number }>(
      `select count(*)::int as runs, count(*) filter (where r.status = 'completed')::int as completed,
          count(*) filter (where e.first = 1 and e.last = e.rows)::int as gapless,
          count(*) filter (where e.said = m.text and length(m.text) = $2)::int as whole
        from (select distinct on (chat_id) * from runs where chat_id = any($1) order by chat_id, id desc) r
        join messages m on m.id = r.output_message_id
        cross join lateral (
          select min(seq) as first, max(seq) as last, count(*) as rows,
            string_agg(data ->> 'delta', '' order by seq) filter (where type = 'text.delta') as said
          from run_events where run_id = r.id) e`,
      [ids, ' cloud'.length * RUN_EVENTS],
    )
    rows.push({
      part: 'runs at once',
      name: 'ours',
      round,
      events,
      ...logs[0],
      cpuUs: (cpu / (RUNS * RUN_EVENTS)) * 1e6,
      busy: cpu / seconds,
      seconds,
      paced: (RUN_EVENTS * RUN_PACE_MS) / 1000,
      firstP50: firstMs[Math.floor(firstMs.length / 2)],
      rss: server.rssMegabytes(),
    })
  }
  return rows
}

async function newestPage({ ours: { server }, connection, key, client, chats: made }: World): Promise<Row[]> {
  await using bare = await startMeasurable([process.execPath, 'bench/chats/bare.ts', JSON.stringify(connection)], {
    ready: /ready (\d+)/,
    core: SERVER_CORE,
  })
  const [chat] = await made(1)
  await fill(client, chat!)
  const field = [
    { name: 'bare', server: bare, request: get(`/${chat}`, {}) },
    { name: 'ours', server, request: get(`/v1/chats/${chat}/messages?order=desc`, key) },
  ]
  const rows: Row[] = []
  for (let round = -1; round < ROUNDS; round++)
    for (const { name, server: at, request } of field) {
      const before = at.cpuSeconds()
      const measured = await load({ port: at.port, request, connections: PAGE_CONNECTIONS, seconds: PAGE_SECONDS })
      const cpuUs = ((at.cpuSeconds() - before) / measured.requests) * 1e6
      if (round >= 0) rows.push({ part: 'newest page', name, round, ...measured, cpuUs })
    }
  return rows
}

/** One branch of so many messages of some hundred words. */
async function fill(client: World['client'], chat: string): Promise<void> {
  const id = (i: string): string => `'01KA' || lpad((${i})::text, 22, '0')`
  await client.query(
    `insert into messages (id, chat_id, parent_id, line_id, depth, seq, role, status, content, text)
      select ${id('i')}, $1, case when i > 1 then ${id('i - 1')} end, ${id('1')}, i - 1, i,
        case when i % 2 = 1 then 'user' else 'assistant' end, 'completed',
        jsonb_build_array(jsonb_build_object('type', 'text', 'text', words)), words
      from generate_series(1, ${MESSAGES}) i cross join lateral (select repeat('some words of it ' || i || ' ', 20) as words) w`,
    [chat],
  )
  await client.query(
    `update chats set head_message_id = ${id(String(MESSAGES))}, last_seq = ${MESSAGES} where id = $1`,
    [chat],
  )
  await client.query('vacuum analyze messages, chats')
}

/** The time from when all of them read until the run has ended; each must have been told all. */
async function manyReaders({ ours: { server }, key, post: ask, chats: made }: World): Promise<Row[]> {
  const rows: Row[] = []
  const ids = await made(1)
  for (let round = 0; round < Math.min(ROUNDS, 3); round++)
    for (const readers of [1, READERS]) {
      const content = asking(READ_EVENTS, READ_PACE_MS)
      const sent = await ask(`/chats/${ids[0]}/messages`, { content, parent_id: null, background: true })
      const run = (sent.data['resource'] as unknown as { id: string }).id
      let reading = 0
      let before = NaN
      const { events } = await streamLoad({
        port: server.port,
        request: get(`/v1/chats/${ids[0]}/runs/${run}/events`, key),
        atOnce: readers,
        each: 1,
        mark: 'event: text.delta',
        onFirst: () => {
          if (++reading === readers) before = server.cpuSeconds()
        },
      })
      if (events % readers > 0) throw new Error(`${readers} readers were told ${events} events`)
      const cpuMs = (server.cpuSeconds() - before) * 1000
      rows.push({ part: 'readers', name: String(readers), readers, round, events: events / readers, cpuMs })
    }
  return rows
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as Row[]
  const of = (part: string, name: string): Row[] => rows.filter((row) => row.part === part && row.name === name)
  const mid = (list: Row[], field: string): number => median(list.map((row) => Number(row[field])))
  const least = (list: Row[], field: string): number => Math.min(...list.map((row) => Number(row[field])))
  const firsts = { gateway: of('first token', 'gateway'), chat: of('first token', 'chat') }
  const runs = of('runs at once', 'ours')
  const page = { bare: of('newest page', 'bare'), ours: of('newest page', 'ours') }
  const few = of('readers', '1')
  const many = rows.filter((row) => row.part === 'readers' && row.name !== '1')
  const added = median(firsts.chat.map((row, i) => Number(row['firstP50']) - Number(firsts.gateway[i]!['firstP50'])))
  const slower = median(page.ours.map((row, i) => rate(page.bare[i]!) / rate(row)))
  const dearer = median(many.map((row, i) => Number(row['cpuMs']) / Number(few[i]!['cpuMs'])))
  const count = least(runs, 'runs')
  return [
    '| first token | p50 ms | p99 ms |',
    '|---|--:|--:|',
    ...(['gateway', 'chat'] as const).map(
      (name) =>
        `| ${name} | ${mid(firsts[name], 'firstP50').toFixed(2)} | ${mid(firsts[name], 'firstP99').toFixed(2)} |`,
    ),
    '',
    '| runs at once | words each | CPU µs/word | core busy | seconds | of the vendor alone | first token p50 ms | memory MB |',
    '|--:|--:|--:|--:|--:|--:|--:|--:|',
    `| ${count} | ${(mid(runs, 'paced') * 1000) / RUN_PACE_MS} | ${mid(runs, 'cpuUs').toFixed(0)} | ${(mid(runs, 'busy') * 100).toFixed(0)} % | ${mid(runs, 'seconds').toFixed(1)} | ${mid(runs, 'paced').toFixed(1)} | ${mid(runs, 'firstP50').toFixed(0)} | ${mid(runs, 'rss').toFixed(0)} |`,
    '',
    '| newest page | requests/s | CPU µs/request | p50 µs | p99 µs |',
    '|---|--:|--:|--:|--:|',
    ...(['bare', 'ours'] as const).map((name) => {
      const list = page[name]
      return `| ${name} | ${median(list.map(rate)).toFixed(0)} | ${mid(list, 'cpuUs').toFixed(0)} | ${mid(list, 'p50').toFixed(0)} | ${mid(list, 'p99').toFixed(0)} |`
    }),
    '',
    '| readers of one run | CPU ms |',
    '|--:|--:|',
    ...[few, many].map((list) => `| ${mid(list, 'readers')} | ${mid(list, 'cpuMs').toFixed(0)} |`),
    '',
    '| | is | goal |',
    '|---|--:|--:|',
    `| first token, its event durable, behind the gateway’s, p50 | ${added.toFixed(2)} ms | ≤ 12 ms |`,
    `| runs at once that completed, with a log without a gap that says what the message says | ${least(runs, 'completed')}, ${least(runs, 'gapless')}, ${least(runs, 'whole')} of ${count} | all |`,
    `| time per newest page of a long chat to the bare query | ${slower.toFixed(2)} | ≤ 2 |`,
    `| CPU with ${mid(many, 'readers')} readers of one run to one reader | ${dearer.toFixed(2)} | ≤ 3 |`,
  ].join('\n')
}

const rate = (row: Row): number => Number(row['requests']) / Number(row['seconds'])
