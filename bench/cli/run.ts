/** `uk` as a whole process, against a server on this machine: a list, and the time until an answer's first word is read. */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { startOurs } from '../measure/ours.ts'
import { median, root } from '../measure/process.ts'
import type { Report } from '../report.ts'

const ROUNDS = 15
const WORDS = 'one two three four'

interface Row {
  what: 'list' | 'ask' | 'gateway'
  round: number
  ms: number
}

export async function cli(): Promise<Report> {
  await using ours = await startOurs()
  const env = { ...process.env, UK_ORIGIN: ours.origin, UK_KEY: ours.key }
  const rows: Row[] = []
  const measured = async (what: Row['what'], work: () => Promise<void>, round: number): Promise<void> => {
    const startedAt = performance.now()
    await work()
    if (round >= 0) rows.push({ what, round, ms: performance.now() - startedAt })
  }
  for (let round = -2; round < ROUNDS; round++) {
    await measured(
      'list',
      async () => {
        const { status, stderr } = spawnSync('sh', [join(root, 'bin/uk'), 'chats', 'list'], { env })
        if (status !== 0) throw new Error(`uk chats list: ${stderr.toString()}`)
      },
      round,
    )
    const asked = spawn('sh', [join(root, 'bin/uk'), 'ask', '-m', 'sim/echo', WORDS], {
      env,
      // A pipe would be read to its end: what comes in it belongs to the question.
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = new Promise<number | null>((resolve) => asked.once('close', resolve))
    await measured('ask', () => new Promise((resolve) => asked.stdout.once('data', () => resolve())), round)
    if ((await ended) !== 0) throw new Error('uk ask failed')
    await measured('gateway', () => firstToken(ours), round)
  }
  return { name: 'cli', rows: rows.map((row) => ({ ...row })), table: table(rows.map((row) => ({ ...row }))) }
}

/** The same question over the gateway, by a connection of its own, as a program that begins has none. */
async function firstToken({ origin, key }: { origin: string; key: string }): Promise<void> {
  const answer = await fetch(`${origin}/compat-a/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: 'sim/echo', stream: true, messages: [{ role: 'user', content: WORDS }] }),
  })
  for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) if (part.includes('one')) break
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as unknown as Row[]
  const seconds = (what: Row['what']): number[] =>
    // Rows from before there were others are those of the list.
    rows
      .filter((row) => (row.what ?? 'list') === what)
      .map(({ ms }) => ms / 1000)
      .toSorted((a, b) => a - b)
  const [list, ask, gateway] = [seconds('list'), seconds('ask'), seconds('gateway')]
  const said = (times: number[]): string => `${median(times).toFixed(3)} s | ${times[0]!.toFixed(3)} s`
  const lines = [
    '| | median | best | goal |',
    '|---|--:|--:|--:|',
    `| \`uk chats list\`, whole process | ${said(list)} | ≤ 0.2 s |`,
  ]
  if (ask.length > 0)
    lines.push(
      `| \`uk ask\`, until its first word | ${said(ask)} | |`,
      `| the gateway, until its first word | ${said(gateway)} | |`,
      `| over the gateway's | ${(median(ask) - median(gateway)).toFixed(3)} s | ${(ask[0]! - gateway[0]!).toFixed(3)} s | ≤ 0.25 s |`,
    )
  return lines.join('\n')
}
