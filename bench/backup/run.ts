/**
 * A running instance with a gigabyte of files, some large and two thousand small ones: backed up and restored by `uk`, beside `tar`
 * and `cp` of the same folder, each until its bytes are on the disk. The time is that of the whole command.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formWith, transfer } from '../drive/transfer.ts'
import { startOurs } from '../measure/ours.ts'
import { median, root } from '../measure/process.ts'
import type { Report } from '../report.ts'

const MEGABYTE = 1 << 20
const LARGE_BYTES = 128 * MEGABYTE
const LARGE = Number(process.env.BENCH_BACKUP_LARGE ?? 8)
const SMALL_BYTES = 10_000
const SMALL = 2_000
const ROUNDS = 3

export async function backup(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-bench-backup-'))
  const rows: Record<string, unknown>[] = []
  try {
    await using ours = await startOurs()
    const me = (await (
      await fetch(`${ours.origin}/v1/me`, { headers: { authorization: `Bearer ${ours.key}` } })
    ).json()) as { data: { personal_workspace_id: string } }
    const upload = async (name: string, length: number): Promise<void> => {
      const parts = (async function* () {
        for (let left = length; left > 0; left -= MEGABYTE) yield randomBytes(Math.min(left, MEGABYTE))
      })()
      const { port } = ours.server
      const { head, body } = formWith(port, ours.key, me.data.personal_workspace_id, name, length, parts)
      const { status, text } = await transfer(port, head, body)
      if (status !== 201) throw new Error(`answered ${status}: ${text}`)
    }
    for (let i = 0; i < LARGE; i += 1) await upload(`large ${i}.bin`, LARGE_BYTES)
    for (let i = 0; i < SMALL; i += 1) await upload(`small ${i}.bin`, SMALL_BYTES)
    const bytes = LARGE * LARGE_BYTES + SMALL * SMALL_BYTES
    const blobs = join(ours.dataDir, 'blobs')
    for (let round = 0; round <= ROUNDS; round += 1) {
      const at = join(folder, String(round))
      execFileSync('mkdir', [at])
      const timed = (what: string, name: string, command: string[], environment: Record<string, string> = {}): void => {
        const start = performance.now()
        execFileSync(command[0]!, command.slice(1), {
          stdio: ['ignore', 'ignore', 'pipe'],
          env: { PATH: process.env.PATH, HOME: folder, ...environment },
        })
        const seconds = (performance.now() - start) / 1000
        // The first round warms caches.
        if (round > 0) rows.push({ what, name, round, seconds, bytes })
      }
      const uk = (...words: string[]): string[] => ['sh', join(root, 'bin/uk'), ...words]
      const here = { UK_DATA_DIR: ours.dataDir }
      timed('backup', 'tar', ['sh', '-c', `tar -cf ${at}/rival.tar -C ${blobs} . && sync ${at}/rival.tar`])
      timed('backup', 'cp', ['sh', '-c', `cp -r ${blobs} ${at}/rival && find ${at}/rival -type f -exec sync {} +`])
      timed('backup', 'uk to a .tar', uk('backup', '--to', `${at}/ours.tar`), here)
      timed('backup', 'uk to a folder', uk('backup', '--to', `${at}/ours`), here)
      timed('again', 'uk to the same folder', uk('backup', '--to', `${at}/ours`), here)
      timed('restore', 'tar', [
        'sh',
        '-c',
        `mkdir ${at}/back && tar -xf ${at}/rival.tar -C ${at}/back && find ${at}/back -type f -exec sync {} +`,
      ])
      for (const from of ['ours.tar', 'ours']) {
        const into = { UK_DATA_DIR: `${at}/into-${from}` }
        timed(
          'restore',
          `uk from a ${from === 'ours' ? 'folder' : '.tar'}`,
          uk('restore', `${at}/${from}`, '--without-key'),
          into,
        )
        rmSync(into.UK_DATA_DIR, { recursive: true })
      }
      rmSync(at, { recursive: true })
    }
    return { name: 'backup', rows, table: table(rows) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function table(raw: Record<string, unknown>[]): string {
  const rows = raw as { what: string; name: string; seconds: number; bytes: number }[]
  const lines = [...Map.groupBy(rows, ({ what, name }) => `${what}\0${name}`).values()].map((rounds) => {
    const { what, name, bytes } = rounds[0]!
    const seconds = median(rounds.map((row) => row.seconds))
    const goal = what !== 'again' && name.startsWith('uk') ? '≥ 100' : '–'
    return `| ${what} | ${name} | ${seconds.toFixed(1)} s | ${(bytes / 1e6 / seconds).toFixed(0)} | ${goal} |`
  })
  return ['| | by | the whole command | MB/s | goal |', '|---|---|--:|--:|--:|', ...lines].join('\n')
}
