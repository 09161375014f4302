/**
 * Streams through the gateway on one core: 256 and 1,000 paced ones at once, where every event is a write of its own, and
 * one after the other for the time to the first event; each connection asks again when its stream is over. Ours and the
 * pass-throughs in turn on the same upstream.
 */
import { conversation } from '../measure/conversation.ts'
import { post, streamLoad } from '../measure/load.ts'
import { startOurs } from '../measure/ours.ts'
import { type Measurable, median, pin, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'

/** Most where the ratio is closest to its goal. */
const ROUNDS = { few: 5, some: 9, many: 21 }

/** `quick`: not a thousand at once, and fewer rounds. */
export async function streams(quick = false): Promise<Report> {
  await using vendor = await startMeasurable([process.execPath, 'bench/gateway/vendor.ts'], {
    ready: /ready (\d+)/,
    core: 1,
  })
  const proxy = (file: string): Promise<Measurable> =>
    startMeasurable([process.execPath, `bench/gateway/${file}`, String(vendor.port)], { ready: /ready (\d+)/, core: 0 })
  await using raw = await proxy('raw.ts')
  await using http = await proxy('node-http.ts')
  await using ours = await startOurs(
    { OPENAI_API_KEY: 'sk-bench', OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1` },
    0,
  )
  pin(process.pid, 1)
  const body = (events: number, pace: number): string =>
    conversation(1024, { stream: true, stream_options: { include_usage: true }, events, pace })
  const contenders = [
    { name: 'direct', server: vendor, path: '/v1/chat/completions', key: 'x' },
    { name: 'raw', server: raw, path: '/v1/chat/completions', key: 'x' },
    { name: 'ours', server: ours.server, path: '/compat-a/v1/chat/completions', key: ours.key },
    ...(quick ? [] : [{ name: 'node:http', server: http, path: '/v1/chat/completions', key: 'x' }]),
  ]
  const rows: Record<string, unknown>[] = []
  // Code that runs for the first time is compiled first; the bench is about a server that has run for a while.
  for (const { server, path, key } of contenders) {
    const request = post(path, { authorization: `Bearer ${key}` }, body(20, 0))
    await streamLoad({ port: server.port, request, atOnce: 16, each: 500 })
  }
  for (const [rounds, atOnce, each, events, pace] of [
    [ROUNDS.some, 1, 300, 5, 0],
    [ROUNDS.many, 256, 2, 50, 20],
    [quick ? 0 : ROUNDS.few, 1_000, 2, 50, 20],
  ] as const)
    for (let round = 0; round < (quick ? Math.ceil(rounds / 3) : rounds); round++)
      for (const { name, server, path, key } of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const request = post(path, { authorization: `Bearer ${key}` }, body(events, pace))
        const before = server.cpuSeconds()
        const done = await streamLoad({ port: server.port, request, atOnce, each })
        const at = (q: number): number =>
          done.firstMs[Math.min(done.firstMs.length - 1, Math.floor(done.firstMs.length * q))]!
        rows.push({
          atOnce,
          round,
          name,
          events: done.events,
          cpuUs: ((server.cpuSeconds() - before) / done.events) * 1e6,
          firstP50: at(0.5),
          firstP99: at(0.99),
          rss: server.rssMegabytes(),
        })
      }
  return { name: 'streams', rows, table: table(rows) }
}

interface Row {
  atOnce: number
  name: string
  cpuUs: number
  firstP50: number
  firstP99: number
  rss: number
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as unknown as Row[]
  const of = (atOnce: number, name: string): Row[] => rows.filter((row) => row.atOnce === atOnce && row.name === name)
  const mid = (list: Row[], pick: (row: Row) => number): number => median(list.map(pick))
  const lines = [
    '| streams at once | server | CPU µs/event | first event p50 ms | p99 ms | memory MB |',
    '|--:|---|--:|--:|--:|--:|',
  ]
  for (const atOnce of [1, 256, 1_000])
    for (const name of ['direct', 'raw', 'ours', 'node:http']) {
      const list = of(atOnce, name)
      if (list.length === 0) continue
      lines.push(
        `| ${atOnce} | ${name} | ${mid(list, (row) => row.cpuUs).toFixed(1)} | ${mid(list, (row) => row.firstP50).toFixed(2)} | ${mid(list, (row) => row.firstP99).toFixed(2)} | ${mid(list, (row) => row.rss).toFixed(0)} |`,
      )
    }
  const ratio = (atOnce: number, name: string): string => {
    const others = of(atOnce, name)
    return others.length === 0
      ? '–'
      : median(of(atOnce, 'ours').map((row, i) => row.cpuUs / others[i]!.cpuUs)).toFixed(2)
  }
  const added = (pick: (row: Row) => number): number =>
    median(of(1, 'ours').map((row, i) => pick(row) - pick(of(1, 'direct')[i]!)))
  return [
    ...lines,
    '',
    '| | is | goal |',
    '|---|--:|--:|',
    `| CPU per event to raw, 256 paced streams | ${ratio(256, 'raw')} | ≤ 1.10 |`,
    `| the same, 1,000 streams | ${ratio(1_000, 'raw')} | ≤ 1.10 |`,
    `| CPU per event to node:http + undici, 256 and 1,000 streams | ${ratio(256, 'node:http')}, ${ratio(1_000, 'node:http')} | – |`,
    `| added time to the first event at one connection, p50 | ${added((row) => row.firstP50).toFixed(2)} ms | – |`,
    `| the same, p99 | ${added((row) => row.firstP99).toFixed(2)} ms | ≤ 0.5 ms |`,
  ].join('\n')
}
