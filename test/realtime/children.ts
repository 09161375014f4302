import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestDatabase } from '../database.ts'

/** A server in a process of its own. */
export interface Child extends AsyncDisposable {
  origin: string
  rssMegabytes(): number
  /** SIGKILL: nothing of it says goodbye. */
  kill(): Promise<void>
}

export async function startChild(
  { connection, dataDir }: TestDatabase,
  environment: Record<string, string> = {},
): Promise<Child> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'child.ts'), JSON.stringify(connection), dataDir, JSON.stringify(environment)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const origin = await new Promise<string>((resolve, reject) => {
    // It may log before it is ready.
    let said = ''
    child.stdout.on('data', (part: Buffer) => {
      said += part.toString()
      const found = /^http:\S+$/m.exec(said)
      if (found) resolve(found[0])
    })
    child.once('exit', () => reject(new Error(`the server ended before it was ready: ${said}`)))
  })
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  return {
    origin,
    rssMegabytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024,
    kill,
    [Symbol.asyncDispose]: kill,
  }
}
