/**
 * Gateway pass-through on one core: ours, a raw node:http + undici pass-through, and Portkey's gateway, in turn, on
 * the same upstream. The server under test has core 0; load, upstream and database have the others.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conversation } from '../measure/conversation.ts'
import { load, post } from '../measure/load.ts'
import { cappedKey, startOurs } from '../measure/ours.ts'
import { type Measurable, measured, median, pin, root, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'

/** Many and short: what the machine does beside us comes and goes within seconds. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 40)
const SECONDS = 1
/** Whom the closest ratio does not compare takes part in each so many rounds. */
const SELDOM = 4
/** Requests a second at which what durable reservations add is measured: a closed loop waits for itself. */
const RATE = 5_000

interface Contender {
  name: string
  server: Measurable
  request: Buffer
}

/** The proxy that people put in front of everything, where it is installed. */
async function startNginx(upstream: number): Promise<Measurable | null> {
  if (spawnSync('nginx', ['-v']).status !== 0) return null
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-bench-nginx-'))
  const port = 18_788
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; user root; worker_processes 1; pid ${folder}/pid; error_log stderr notice; events { worker_connections 4096; }
http { access_log off; client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s; keepalive_requests 100000000; client_max_body_size 32m; client_body_buffer_size 1m;
  upstream vendor { server 127.0.0.1:${upstream}; keepalive 128; keepalive_requests 100000000; }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://vendor; proxy_http_version 1.1;
    proxy_set_header Connection ""; proxy_buffering off; } } }`,
  )
  // Its master waits; the worker is who works.
  const master = await startMeasurable(['nginx', '-c', join(folder, 'nginx.conf'), '-p', folder], {
    ready: /start worker process (\d+)/,
    port,
  })
  const worker = Number(
    execFileSync('pgrep', ['-P', String(master.pid)])
      .toString()
      .trim()
      .split('\n')[0],
  )
  pin(worker, 0)
  return { ...master, ...measured(worker) }
}

export async function gateway(): Promise<Report> {
  await using vendor = await startMeasurable([process.execPath, 'bench/gateway/vendor.ts'], {
    ready: /ready (\d+)/,
    core: 1,
  })
  await using raw = await startMeasurable([process.execPath, 'bench/gateway/raw.ts', String(vendor.port)], {
    ready: /ready (\d+)/,
    core: 0,
  })
  const portkeyPort = 18_787
  await using portkey = await startMeasurable(
    [
      process.execPath,
      join(root, 'bench/node_modules/@portkey-ai/gateway/build/start-server.js'),
      '--headless',
      `--port=${portkeyPort}`,
    ],
    { ready: /running|Ready|listening|localhost/i, port: portkeyPort, core: 0 },
  )
  await using ours = await startOurs(
    { OPENAI_API_KEY: 'sk-bench', OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1` },
    0,
  )
  pin(process.pid, 1)
  await using stack = new AsyncDisposableStack()
  const nginx = await startNginx(vendor.port)
  if (nginx) stack.use(nginx)
  const capped = await cappedKey(ours)

  const contenders = (bytes: number): Contender[] => {
    const json = conversation(bytes)
    const portkeyHeaders = {
      authorization: 'Bearer sk-bench',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${vendor.port}/v1`,
    }
    return [
      { name: 'raw', server: raw, request: post('/v1/chat/completions', { authorization: 'Bearer sk-bench' }, json) },
      {
        name: 'ours',
        server: ours.server,
        request: post('/compat-a/v1/chat/completions', { authorization: `Bearer ${ours.key}` }, json),
      },
      ...(nginx
        ? [{ name: 'nginx', server: nginx, request: post('/v1/chat/completions', { authorization: 'Bearer x' }, json) }]
        : []),
      {
        name: 'ours, capped key',
        server: ours.server,
        request: post('/compat-a/v1/chat/completions', { authorization: `Bearer ${capped}` }, json),
      },
      { name: 'portkey', server: portkey, request: post('/v1/chat/completions', portkeyHeaders, json) },
    ]
  }

  const rows: Record<string, unknown>[] = []
  for (const [bytes, connections] of [
    [1024, 64],
    [1024, 1],
    [20_480, 64],
  ] as const) {
    const field = contenders(bytes)
    for (const { server, request } of field) await load({ port: server.port, request, connections, seconds: 1 })
    for (let round = 0; round < ROUNDS; round++) {
      // The two that are compared stand side by side, in either order.
      const pair = round % 2 === 0 ? field.slice(0, 2) : field.slice(0, 2).toReversed()
      for (const { name, server, request } of round % SELDOM === 0 ? [...pair, ...field.slice(2)] : pair) {
        const before = server.cpuSeconds()
        const measured = await load({ port: server.port, request, connections, seconds: SECONDS })
        rows.push({
          bytes,
          connections,
          round,
          name,
          ...measured,
          cpuUs: ((server.cpuSeconds() - before) / measured.requests) * 1e6,
          rss: server.rssMegabytes(),
        })
      }
    }
    if (bytes === 1024 && connections === 64) {
      const paced = [
        ...field.filter(({ name }) => name.startsWith('ours')),
        { ...field[0]!, name: 'direct', server: vendor },
      ]
      for (let round = 0; round < ROUNDS; round += SELDOM)
        for (const { name, server, request } of paced) {
          const measured = await load({ port: server.port, request, connections, seconds: SECONDS, rate: RATE })
          rows.push({ bytes, connections, rate: RATE, round, name: `${name}, paced`, ...measured })
        }
    }
    // The upstream straight, for what a gateway adds.
    const direct = await load({ port: vendor.port, request: field[0]!.request, connections, seconds: SECONDS })
    rows.push({ bytes, connections, round: 0, name: 'direct', ...direct })
  }
  return { name: 'gateway', rows, table: table(rows) }
}

const names = [
  'direct',
  'nginx',
  'raw',
  'ours',
  'ours, capped key',
  'portkey',
  'direct, paced',
  'ours, paced',
  'ours, capped key, paced',
]

type Row = {
  bytes: number
  connections: number
  round: number
  name: string
  requests: number
  seconds: number
  p50: number
  p99: number
  cpuUs: number
  rss: number
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as unknown as Row[]
  const of = (bytes: number, connections: number, name: string): Row[] =>
    rows.filter((row) => row.bytes === bytes && row.connections === connections && row.name === name)
  const mid = (list: Row[], pick: (row: Row) => number): number => median(list.map(pick))
  /** The median of the rounds' own ratios: what drifts between rounds cancels. */
  const ratio = (bytes: number, connections: number, a: string, b: string, pick: (row: Row) => number): number =>
    median(
      of(bytes, connections, a).flatMap((row) => {
        const other = of(bytes, connections, b).find(({ round }) => round === row.round)
        return other === undefined ? [] : [pick(row) / pick(other)]
      }),
    )
  const rps = (row: Row): number => row.requests / row.seconds
  const cpu = (row: Row): number => row.cpuUs
  const lines = [
    '| body | connections | server | requests/s | CPU µs/request | p50 µs | p99 µs | memory MB |',
    '|--:|--:|---|--:|--:|--:|--:|--:|',
  ]
  for (const [bytes, connections] of [
    [1024, 64],
    [20_480, 64],
    [1024, 1],
  ] as const)
    for (const name of names) {
      const list = of(bytes, connections, name)
      if (list.length === 0) continue
      const number = (value: number, digits = 0): string => (Number.isFinite(value) ? value.toFixed(digits) : '–')
      lines.push(
        `| ${bytes} B | ${connections} | ${name} | ${number(mid(list, rps))} | ${number(mid(list, cpu), 1)} | ${number(mid(list, (row) => row.p50))} | ${number(mid(list, (row) => row.p99))} | ${number(mid(list, (row) => row.rss))} |`,
      )
    }
  const added99 = mid(of(1024, 1, 'ours'), (row) => row.p99) - mid(of(1024, 1, 'direct'), (row) => row.p99)
  const loop99 = mid(of(1024, 64, 'ours, capped key'), (row) => row.p99) - mid(of(1024, 64, 'ours'), (row) => row.p99)
  const held = of(1024, 64, 'ours, capped key, paced')
  const held99 = mid(held, (row) => row.p99) - mid(of(1024, 64, 'direct, paced'), (row) => row.p99)
  const added = mid(of(1024, 1, 'ours'), (row) => row.p50) - mid(of(1024, 1, 'direct'), (row) => row.p50)
  return [
    ...lines,
    '',
    '| ratio, median of the rounds | is | goal |',
    '|---|--:|--:|',
    `| CPU per request to raw node:http + undici, 1 KB, 64 connections | ${ratio(1024, 64, 'ours', 'raw', cpu).toFixed(2)} | ≤ 1.33, then 1.18 |`,
    `| the same, 20 KB | ${ratio(20_480, 64, 'ours', 'raw', cpu).toFixed(2)} | ≤ 1.4 |`,
    `| throughput to Portkey 1.15.2, 1 KB, 64 connections | ${ratio(1024, 64, 'ours', 'portkey', rps).toFixed(1)} | ≥ 7, then 8.5 |`,
    `| added latency at one connection, p50 | ${(added / 1000).toFixed(3)} ms | ≤ 0.2 ms, then 0.15 |`,
    `| the same, p99 | ${(added99 / 1000).toFixed(2)} ms | ≤ 0.6 ms |`,
    `| with durable reservations: requests/s at 64 connections | ${mid(of(1024, 64, 'ours, capped key'), rps).toFixed(0)} | ≥ 5000 |`,
    `| what they add to p99 where each connection asks again at once | ${(loop99 / 1000).toFixed(1)} ms | – |`,
    `| added p99 at ${mid(held, rps).toFixed(0)} of those a second, 64 connections | ${(held99 / 1000).toFixed(1)} ms | ≤ 5 ms |`,
  ].join('\n')
}
