/**
 * Memory over time: whole answers for a key without and one with a cap and a hundred paced streams, half of each second
 * for ten minutes, and what the server holds meanwhile. `UKIYO_BENCH_MINUTES=3` is shorter.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { conversation } from '../measure/conversation.ts'
import { load, post, streamLoad } from '../measure/load.ts'
import { cappedKey, startOurs } from '../measure/ours.ts'
import { median, pin, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'

const MINUTES = Number(process.env.UKIYO_BENCH_MINUTES ?? 10)
const CONNECTIONS = 32
const STREAMS = 100

export async function memory(): Promise<Report> {
  await using vendor = await startMeasurable([process.execPath, 'bench/gateway/vendor.ts'], {
    ready: /ready (\d+)/,
    core: 1,
  })
  await using ours = await startOurs(
    { OPENAI_API_KEY: 'sk-bench', OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1` },
    0,
  )
  pin(process.pid, 1)
  const { port } = ours.server
  const asking = (key: string, body: string): Buffer =>
    post('/compat-a/v1/chat/completions', { authorization: `Bearer ${key}` }, body)
  const keys = [ours.key, await cappedKey(ours)]
  const whole = keys.map((key) => asking(key, conversation(1024)))
  const streamed = keys.map((key) =>
    asking(key, conversation(1024, { stream: true, stream_options: { include_usage: true }, events: 100, pace: 20 })),
  )
  const rows: { second: number; rss: number; requests: number }[] = []
  const seconds = MINUTES * 60
  const over = new AbortController()
  const streams = (async () => {
    for (let turn = 0; !over.signal.aborted; turn++)
      await streamLoad({ port, request: streamed[turn % 2]!, atOnce: STREAMS, each: 1 })
  })()
  const startedAt = performance.now()
  for (let second = 0; second < seconds; second++) {
    const { requests } = await load({
      port,
      request: whole[second % 2]!,
      connections: CONNECTIONS,
      seconds: 0.5,
    })
    rows.push({ second, rss: ours.server.rssMegabytes(), requests })
    await sleep(Math.max(0, startedAt + (second + 1) * 1000 - performance.now()))
  }
  over.abort()
  await streams
  return { name: 'memory', rows, table: table(rows) }
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as unknown as { second: number; rss: number; requests: number }[]
  const minutes = Math.ceil(rows.length / 60)
  const within = (minute: number): number[] =>
    rows.filter(({ second }) => Math.floor(second / 60) === minute).map(({ rss }) => rss)
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  const shown = [...new Set([0, 1, 2, 4, 6, 8, minutes - 1])].filter((minute) => minute < minutes)
  return [
    '| minute | memory MB, median | most |',
    '|--:|--:|--:|',
    ...shown.map(
      (minute) =>
        `| ${minute + 1} | ${median(within(minute)).toFixed(0)} | ${Math.max(...within(minute)).toFixed(0)} |`,
    ),
    '',
    '| | is | goal |',
    '|---|--:|--:|',
    `| most in ${minutes} minutes and ${requests} requests | ${Math.max(...rows.map(({ rss }) => rss)).toFixed(0)} MB | ≤ 300 MB |`,
    `| median of the last minute to that of the second | ${(median(within(minutes - 1)) / median(within(Math.min(1, minutes - 1)))).toFixed(2)} | ≤ 1.05 |`,
  ].join('\n')
}
