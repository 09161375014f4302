/**
 * What others feel of one ordinary account that does its worst: the p99 of `/v1/me` and of a gateway call of another
 * account, failures of either, how late the event loop is, how long its turns are, and the memory it costs. Limits on
 * calls are off, so what holds is the fairness alone.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Ours, startOurs } from '../measure/ours.ts'
import { type Measurable, root, startMeasurable } from '../measure/process.ts'
import type { Report } from '../report.ts'
import { Account } from './account.ts'
import { attacks } from './attacks.ts'

const IDLE_SECONDS = 8
const ATTACK_SECONDS = 10
/** Calls a second of each kind. */
const RATE = 40

export async function fairness(): Promise<Report> {
  await using vendor = await startMeasurable([process.execPath, 'bench/gateway/vendor.ts'], { ready: /ready (\d+)/ })
  await using outside = await startMeasurable([process.execPath, 'bench/fairness/outside.ts'], { ready: /ready (\d+)/ })
  using turns = noteTurns()
  await using ours = await startOurs({
    UKIYO_BENCH_TURNS: turns.file,
    NODE_OPTIONS: `--import=${join(root, 'bench/fairness/turns.ts')}`,
    UK_LOG: 'error',
    UK_SIGN_UP: 'open',
    UK_SIGN_UP_CREDITS_USD: '1000',
    UK_UPSTREAM_ALLOW: '127.0.0.1',
    UK_FETCH_ALLOW: '127.0.0.1',
    OPENAI_API_KEY: 'sk-bench',
    OPENAI_BASE_URL: `http://127.0.0.1:${vendor.port}/v1`,
  })
  const victim = new Account(ours.origin, ours.key)
  const rows: Record<string, unknown>[] = []
  await watch(ours, victim, 3)
  turns.clear()
  rows.push({ attack: 'idle', ...(await watch(ours, victim, IDLE_SECONDS)), longestTurn: turns.longest() })
  for (const [number, { name }] of attacks.entries()) {
    await using attacker = await startMeasurable(
      [
        'nice',
        '-n',
        '19',
        process.execPath,
        'bench/fairness/attacker.ts',
        ours.origin,
        `http://127.0.0.1:${outside.port}`,
        String(number),
      ],
      { ready: /ready (\d+)/, patienceMs: 120_000 },
    )
    await settled(ours, victim)
    const before = ours.server.rssMegabytes()
    attacker.child.stdin!.write('go\n')
    await sleep(1_000)
    turns.clear()
    const watched = await watch(ours, victim, ATTACK_SECONDS)
    const longestTurn = turns.longest()
    rows.push({
      attack: name,
      ...watched,
      longestTurn,
      acts: await ended(attacker),
      moreMegabytes: Math.max(0, watched.megabytes - before),
    })
  }
  return { name: 'fairness', rows, table: table(rows) }
}

/** The turns of the server's event loop, as `turns.ts` notes them: milliseconds of a processor. */
function noteTurns(): Disposable & { file: string; clear(): void; longest(): number } {
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-bench-'))
  const file = join(folder, 'turns')
  const clear = (): void => writeFileSync(file, '')
  clear()
  return {
    file,
    clear,
    longest: () => Math.max(0, ...readFileSync(file, 'utf8').split('\n').map(Number)),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

interface Watched {
  meP50: number
  meP99: number
  gatewayP50: number
  gatewayP99: number
  /** The longest that a call which needs nothing but the event loop took, and its p99. */
  loopMax: number
  loopP99: number
  calls: number
  failed: number
  megabytes: number
}

/** Calls of the victim at a steady rate, whatever the earlier ones do: in milliseconds from when each was due. */
async function watch(ours: Ours, victim: Account, seconds: number): Promise<Watched> {
  const times = { me: [] as number[], gateway: [] as number[], loop: [] as number[] }
  let failed = 0
  let megabytes = 0
  const under = new Set<Promise<void>>()
  const ask = (kind: keyof typeof times, due: number, call: () => Promise<{ status: number }>): void => {
    const work: Promise<void> = call()
      .then(({ status }) => void (status === 200 || failed++))
      .catch(() => void failed++)
      .finally(() => {
        times[kind].push(performance.now() - due)
        under.delete(work)
      })
    under.add(work)
  }
  const chat = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] }
  const start = performance.now()
  for (let n = 0; n < seconds * RATE; n++) {
    const due = start + (n * 1000) / RATE
    await sleep(Math.max(0, due - performance.now()))
    // This process shares the processors: what it is late itself isn't the server's.
    const at = Math.max(due, performance.now())
    ask('loop', at, () => victim.call('GET', '/healthz'))
    ask('me', at, () => victim.call('GET', '/v1/me'))
    ask('gateway', at, () => victim.call('POST', '/compat-a/v1/chat/completions', chat))
    megabytes = Math.max(megabytes, ours.server.rssMegabytes())
  }
  await Promise.all(under)
  const at = (list: number[], share: number): number =>
    list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))]!
  return {
    meP50: at(times.me, 0.5),
    meP99: at(times.me, 0.99),
    gatewayP50: at(times.gateway, 0.5),
    gatewayP99: at(times.gateway, 0.99),
    loopMax: Math.max(...times.loop),
    loopP99: at(times.loop, 0.99),
    calls: times.me.length + times.gateway.length + times.loop.length,
    failed,
    megabytes,
  }
}

/** Ends an attack, and returns how often it was carried out. */
async function ended({ child }: Measurable): Promise<number> {
  let output = ''
  child.stdout!.on('data', (part) => (output += part))
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.stdin!.end()
  await exit
  return Number(/acts (\d+)/.exec(output)?.[1] ?? 0)
}

/** Waits until the server has done what a preparation left to it. */
async function settled(ours: Ours, victim: Account): Promise<void> {
  for (let quiet = 0; quiet < 5;) {
    const before = ours.server.cpuSeconds()
    await victim.call('GET', '/healthz')
    await sleep(200)
    quiet = ours.server.cpuSeconds() - before < 0.06 ? quiet + 1 : 0
  }
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as unknown as (Watched & {
    attack: string
    moreMegabytes?: number
    acts?: number
    longestTurn?: number
  })[]
  const idle = rows.find(({ attack }) => attack === 'idle')!
  const attacked = rows.filter((row) => row !== idle)
  const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0)
  const worst = (pick: (row: (typeof rows)[number]) => number): number => Math.max(...attacked.map(pick))
  return [
    '| one account does | `/me` p99 ms | gateway p99 ms | loop p99 ms | loop max ms | longest turn, CPU ms | failed | more MB |',
    '|---|--:|--:|--:|--:|--:|--:|--:|',
    ...rows.map(
      (row) =>
        `| ${row === idle ? 'nothing' : row.attack} | ${ms(row.meP99)} | ${ms(row.gatewayP99)} | ${ms(row.loopP99)} | ${ms(row.loopMax)} | ${row.longestTurn === undefined ? '–' : ms(row.longestTurn)} | ${row.failed} of ${row.calls} | ${row.moreMegabytes === undefined ? '–' : row.moreMegabytes.toFixed(0)} |`,
    ),
    '',
    '| the worst of them | is | goal |',
    '|---|--:|--:|',
    `| \`/me\` p99 to idle | ${(worst((row) => row.meP99) / idle.meP99).toFixed(1)} | ≤ 3 |`,
    `| gateway p99 to idle | ${(worst((row) => row.gatewayP99) / idle.gatewayP99).toFixed(1)} | ≤ 3 |`,
    `| delay of the event loop, p99 | ${ms(worst((row) => row.loopP99))} ms | ≤ 50 ms |`,
    `| failed calls of others | ${worst((row) => row.failed)} | 0 |`,
    `| more memory | ${worst((row) => row.moreMegabytes ?? 0).toFixed(0)} MB | ≤ 400 MB |`,
  ].join('\n')
}
