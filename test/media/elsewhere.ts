import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestDatabase } from '#test/database.ts'

/** A server in a process of its own, to be killed. */
export async function serverElsewhere({
  connection,
  dataDir,
}: TestDatabase): Promise<{ child: ChildProcess; origin: string }> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'server-child.ts'), JSON.stringify(connection), dataDir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, origin: line.toString().trim() }
}
