import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../server.ts'
import { until } from '../until.ts'
import type { Home } from './run-daemon.ts'

export interface StartedDaemon extends AsyncDisposable {
  /** The computer's ID. */
  id: string
  pid: number | undefined
}

/** Runs `uk computer run` as a separate process, paired for this user. */
export async function startDaemon(
  home: Home,
  url: string,
  person: Caller,
  words: readonly string[] = [],
  as: readonly string[] = [],
): Promise<StartedDaemon> {
  const { token } = (await person.post('/computer-pairings', { name: 'Box' })).body.data
  const [program, ...rest] = [...as, 'sh', join(import.meta.dirname, '../../bin/uk'), 'computer', 'run', '--url', url]
  const child = spawn(program, [...rest, ...words], {
    env: { PATH: process.env.PATH, HOME: home.folder, UK_CONFIG_DIR: home.folder, UK_PAIR_TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += String(part)))
  let ending = false
  const over = new Promise<void>((resolve) =>
    child.once('exit', (code, signal) => {
      // Explains later failures.
      if (!ending) console.error(`a daemon ended by itself (${code ?? signal}): ${output}`)
      resolve()
    }),
  )
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the daemon ended: ${output}`)
    return output.includes('connected to')
  }, Boolean)
  return {
    id: JSON.parse(readFileSync(join(home.folder, 'computer.json'), 'utf8')).computer_id,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      ending = true
      child.kill('SIGTERM')
      await over
    },
  }
}
