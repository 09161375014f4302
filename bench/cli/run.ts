/** `uk chats list` as a whole process, against a server on this machine. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { startOurs } from '../measure/ours.ts'
import { median, root } from '../measure/process.ts'
import type { Report } from '../report.ts'

const ROUNDS = 15

export async function cli(): Promise<Report> {
  await using ours = await startOurs()
  const rows: Record<string, unknown>[] = []
  for (let round = -2; round < ROUNDS; round++) {
    const startedAt = performance.now()
    const { status, stderr } = spawnSync('sh', [join(root, 'bin/uk'), 'chats', 'list'], {
      env: { ...process.env, UK_ORIGIN: ours.origin, UK_KEY: ours.key },
    })
    if (status !== 0) throw new Error(`uk chats list: ${stderr.toString()}`)
    if (round >= 0) rows.push({ round, ms: performance.now() - startedAt })
  }
  return { name: 'cli', rows, table: table(rows) }
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as { ms: number }[]
  const sorted = rows.map((row) => row.ms).toSorted((a, b) => a - b)
  return [
    '| | median | best | goal |',
    '|---|--:|--:|--:|',
    `| \`uk chats list\`, whole process | ${(median(sorted) / 1000).toFixed(3)} s | ${(sorted[0]! / 1000).toFixed(3)} s | ≤ 0.2 s |`,
  ].join('\n')
}
