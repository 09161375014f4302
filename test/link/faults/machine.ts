import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeState } from '#daemon/state.ts'
import { CAPABILITIES } from '#daemon-protocol/operations.ts'
import { hasExited } from '../../computers/keeper.ts'
import { roomForRun } from '../../room.ts'
import { until } from '../../until.ts'
import type { Paired } from '../daemon.ts'

const UK = join(import.meta.dirname, '../../../bin/uk')

/** A paired machine with a daemon process and a keeper process. */
export interface Machine extends AsyncDisposable {
  folder: string
  /** `kill -9`. The daemon restarts; a keeper starts on demand. */
  kill(which: 'daemon' | 'keeper'): Promise<void>
  /**
   * Live processes that name its folder in arguments or environment, except daemon and keeper: PID, parent and command
   * line.
   */
  others(): string[]
}

export async function startMachine(url: string, { id, credential }: Paired): Promise<Machine> {
  const folder = mkdtempSync(join(roomForRun(), 'faults-'))
  // The state folder is hidden from file operations.
  const state = join(folder, 'state')
  await writeState(state, {
    server_url: url,
    computer_id: id,
    name: 'Box',
    credential,
    previous: null,
    allows: [...CAPABILITIES],
    roots: ['/'],
    updates: null,
  })
  const start = (): ChildProcess =>
    spawn('sh', [UK, 'computer', 'run'], {
      env: { PATH: process.env.PATH, HOME: folder, UK_CONFIG_DIR: state },
      stdio: 'ignore',
    })
  let daemon = start()
  const keeper = (): number => {
    try {
      return Number(readFileSync(join(state, 'keeper/keeper.lock'), 'utf8').split(' ')[0])
    } catch {
      return 0
    }
  }
  return {
    folder,
    async kill(which) {
      const pid = which === 'daemon' ? daemon.pid! : keeper()
      if (pid === 0 || hasExited(pid)) return
      process.kill(pid, 'SIGKILL')
      await until(async () => hasExited(pid), Boolean)
      if (which === 'daemon') daemon = start()
    },
    others: () =>
      processesOf(folder)
        .filter((pid) => Number(pid) !== daemon.pid && Number(pid) !== keeper())
        .map(describeProcess),
    async [Symbol.asyncDispose]() {
      const over = new Promise((resolve) => daemon.once('exit', resolve))
      daemon.kill('SIGTERM')
      await over
      const pid = keeper()
      if (pid !== 0 && !hasExited(pid)) {
        process.kill(pid, 'SIGTERM')
        await until(async () => hasExited(pid), Boolean)
      }
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** `12 (parent 1): sh -c …` */
function describeProcess(pid: string): string {
  try {
    const readProc = (what: string): string => readFileSync(`/proc/${pid}/${what}`, 'latin1')
    const parent = /^PPid:\s+(\d+)/m.exec(readProc('status'))?.[1]
    return `${pid} (parent ${parent}): ${readProc('cmdline').replaceAll('\0', ' ').trim()}`
  } catch {
    return `${pid}: has just ended`
  }
}

function processesOf(folder: string): string[] {
  const names = (pid: string, what: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/${what}`, 'latin1').includes(folder)
    } catch {
      return false
    }
  }
  return readdirSync('/proc').filter((pid) => /^\d/.test(pid) && (names(pid, 'cmdline') || names(pid, 'environ')))
}
