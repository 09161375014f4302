/**
 * Gateway pass-through on one core: ours, a raw pass-through, one of node:http and undici, nginx and Portkey's gateway,
 * in turn, on the same upstream. The server under test has core 0; load, upstream and database have the others.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conversation } from '../measure/conversation.ts'
import { load, post, warmUp } from '../measure/load.ts'
import { cappedKey, startOurs } from '../measure/ours.ts'
import { type Measurable, measured, median, pin, root, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'

/** Many and short: what the machine does beside us comes and goes within seconds. */
const ROUNDS = 40
const FEW_ROUNDS = 8
const SECONDS = 1
/** Answers of each server before it is measured, for bodies of 1 KB; of larger ones fewer. */
const WARM = 25_000
/** A rival that the closest ratio does not compare takes part in each so many rounds. */
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

const cases = [
  [1024, 64],
  [1024, 1],
  [20_480, 64],
  [204_800, 64],
] as const

/** `quick`: those of the closest ratio alone, in fewer rounds. */
export async function gateway(quick = false): Promise<Report> {
  const rounds = quick ? FEW_ROUNDS : ROUNDS
  await using vendor = await startMeasurable([process.execPath, 'bench/gateway/vendor.ts'], {
    ready: /ready (\d+)/,
    core: 1,
  })
  await using stack = new AsyncDisposableStack()
  const proxy = async (file: string): Promise<Measurable> =>
    stack.use(
      await startMeasurable([process.execPath, `bench/gateway/${file}`, String(vendor.port)], {
        ready: /ready (\d+)/,
        core: 0,
      }),
    )
  const raw = await proxy('raw.ts')
  await using ours = await startOurs(
    { OPENAI_API_KEY: 'sk-bench', OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1` },
    0,
  )
  const others: { name: string; server: Measurable; headers: Record<string, string> }[] = []
  if (!quick) {
    others.push({ name: 'node:http', server: await proxy('node-http.ts'), headers: { authorization: 'Bearer x' } })
    const nginx = await startNginx(vendor.port)
    if (nginx) others.push({ name: 'nginx', server: stack.use(nginx), headers: { authorization: 'Bearer x' } })
    others.push({
      name: 'portkey',
      server: stack.use(await startPortkey()),
      headers: {
        authorization: 'Bearer sk-bench',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `http://127.0.0.1:${vendor.port}/v1`,
      },
    })
  }
  pin(process.pid, 1)
  const capped = await cappedKey(ours)

  const contenders = (bytes: number): Contender[] => {
    const json = conversation(bytes)
    const straight = post('/v1/chat/completions', { authorization: 'Bearer sk-bench' }, json)
    const throughOurs = (key: string): Buffer =>
      post('/compat-a/v1/chat/completions', { authorization: `Bearer ${key}` }, json)
    return [
      { name: 'direct', server: vendor, request: straight },
      { name: 'raw', server: raw, request: straight },
      { name: 'ours', server: ours.server, request: throughOurs(ours.key) },
      { name: 'ours, capped key', server: ours.server, request: throughOurs(capped) },
      ...others.map(({ name, server, headers }) => ({
        name,
        server,
        request: post('/v1/chat/completions', headers, json),
      })),
    ]
  }

  const rows: Record<string, unknown>[] = []
  for (const [bytes, connections] of cases) {
    const field = contenders(bytes)
    for (const { server, request } of field)
      await warmUp(
        { port: server.port, request, connections },
        (server === ours.server || server === raw ? WARM : WARM / 10) / (1 + bytes / 20_480),
      )
    for (let round = 0; round < rounds; round++) {
      // Rivals that are compared stand side by side, in either order.
      const close = round % 2 === 0 ? field.slice(0, 3) : field.slice(0, 3).toReversed()
      for (const { name, server, request } of round % SELDOM === 0 ? [...close, ...field.slice(3)] : close) {
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
    if (bytes === 1024 && connections === 64 && !quick) {
      const paced = field.filter(({ name }) => name === 'direct' || name.startsWith('ours'))
      for (let round = 0; round < rounds; round += SELDOM)
        for (const { name, server, request } of paced) {
          const measured = await load({ port: server.port, request, connections, seconds: SECONDS, rate: RATE })
          rows.push({ bytes, connections, rate: RATE, round, name: `${name}, paced`, ...measured })
        }
    }
  }
  return { name: 'gateway', rows, table: table(rows) }
}

/** Portkey's open gateway, as its package starts it. */
const startPortkey = (port = 18_787): Promise<Measurable> =>
  startMeasurable(
    [
      process.execPath,
      join(root, 'bench/node_modules/@portkey-ai/gateway/build/start-server.js'),
      '--headless',
      `--port=${port}`,
    ],
    { ready: /running|Ready|listening|localhost/i, port, core: 0 },
  )

const names = [
  'direct',
  'nginx',
  'raw',
  'ours',
  'ours, capped key',
  'node:http',
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
  /** The figure on top of the upstream's own, round by round. */
  const added = (pick: (row: Row) => number): number =>
    median(
      of(1024, 1, 'ours').flatMap((row) => {
        const other = of(1024, 1, 'direct').find(({ round }) => round === row.round)
        return other === undefined ? [] : [pick(row) - pick(other)]
      }),
    )
  const lines = [
    '| body | connections | server | requests/s | CPU µs/request | p50 µs | p99 µs | memory MB |',
    '|--:|--:|---|--:|--:|--:|--:|--:|',
  ]
  const number = (value: number, digits = 0): string => (Number.isFinite(value) ? value.toFixed(digits) : '–')
  for (const [bytes, connections] of cases)
    for (const name of names) {
      const list = of(bytes, connections, name)
      if (list.length === 0) continue
      lines.push(
        `| ${bytes} B | ${connections} | ${name} | ${number(mid(list, rps))} | ${number(mid(list, cpu), 1)} | ${number(mid(list, (row) => row.p50))} | ${number(mid(list, (row) => row.p99))} | ${number(mid(list, (row) => row.rss))} |`,
      )
    }
  const p99 = (name: string): number => mid(of(1024, 64, name), (row) => row.p99)
  const held = of(1024, 64, 'ours, capped key, paced')
  const to = (other: string, bytes: number, name = 'ours'): string => number(ratio(bytes, 64, name, other, cpu), 2)
  return [
    ...lines,
    '',
    '| ratio, median of the rounds | is | goal |',
    '|---|--:|--:|',
    `| CPU per request to raw, 1 KB, 64 connections | ${to('raw', 1024)} | ≤ 1.15 |`,
    `| the same, 20 KB | ${to('raw', 20_480)} | ≤ 1.25 |`,
    `| the same, 200 KB | ${to('raw', 204_800)} | ≤ 1.25 |`,
    `| the same with a capped key, 1 KB | ${to('raw', 1024, 'ours, capped key')} | ≤ 1.5 |`,
    `| CPU per request to node:http + undici, 1 KB, 20 KB, 200 KB | ${[1024, 20_480, 204_800].map((bytes) => to('node:http', bytes)).join(', ')} | – |`,
    `| throughput to Portkey 1.15.2, 1 KB, 64 connections | ${number(ratio(1024, 64, 'ours', 'portkey', rps), 1)} | ≥ 7, then 8.5 |`,
    `| added latency at one connection, p50 | ${number(added((row) => row.p50) / 1000, 3)} ms | ≤ 0.10 ms |`,
    `| the same, p99 | ${number(added((row) => row.p99) / 1000, 2)} ms | ≤ 0.5 ms |`,
    `| with durable reservations: requests/s at 64 connections | ${number(mid(of(1024, 64, 'ours, capped key'), rps))} | ≥ 5000 |`,
    `| what they add to p99 where each connection asks again at once | ${number((p99('ours, capped key') - p99('ours')) / 1000, 1)} ms | – |`,
    `| added p99 at ${number(mid(held, rps))} of those a second, 64 connections | ${number((mid(held, (row) => row.p99) - p99('direct, paced')) / 1000, 1)} ms | ≤ 8 ms |`,
  ].join('\n')
}
