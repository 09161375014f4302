/** The time of a second start until `ready`, and the memory that the server holds when nobody calls. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startOn } from '../measure/ours.ts'
import { median } from '../measure/process.ts'
import type { Report } from '../report.ts'

const ROUNDS = 7
const IDLE_MS = 5_000

export async function start(): Promise<Report> {
  const dataDir = mkdtempSync(join(tmpdir(), 'ukiyo-bench-'))
  const rows: Record<string, unknown>[] = []
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      const startedAt = performance.now()
      await using server = await startOn(dataDir)
      const readyMs = performance.now() - startedAt
      if (round === ROUNDS) await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
      rows.push({ round, first: round === 0, readyMs, idleMegabytes: round === ROUNDS ? server.rssMegabytes() : null })
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { name: 'start', rows, table: table(rows) }
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as { first: boolean; readyMs: number; idleMegabytes: number | null }[]
  const ready = (first: boolean): string =>
    (median(rows.filter((row) => row.first === first).map((row) => row.readyMs)) / 1000).toFixed(2)
  return [
    '| | is | goal |',
    '|---|--:|--:|',
    `| first start, with initdb | ${ready(true)} s | – |`,
    `| second start to ready | ${ready(false)} s | ≤ 1 s |`,
    `| idle server without its database | ${rows.find((row) => row.idleMegabytes !== null)!.idleMegabytes!.toFixed(0)} MB | ≤ 150 MB |`,
  ].join('\n')
}
