import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { DaemonFault, makeFolder } from './state.ts'

const LINKED_MS = 10_000

/** Starts `uk computer run` without a terminal and waits until it is linked or exits. Returns the message to print. */
export async function detach(folder: string, words: readonly string[]): Promise<string> {
  await makeFolder(folder)
  const file = join(folder, 'daemon.log')
  const log = openSync(file, 'a+', 0o600)
  const before = fstatSync(log).size
  const argv = [...process.execArgv, process.argv[1]!, 'computer', 'run', ...words]
  const { UK_PAIR_TOKEN: _, ...env } = process.env
  const child = spawn(process.execPath, argv, { detached: true, stdio: ['ignore', log, log, 'ipc'], env })
  const how = await new Promise<'linked' | 'waits' | 'ended'>((resolve) => {
    const timer = setTimeout(() => resolve('waits'), LINKED_MS)
    child.once('message', () => resolve('linked')).once('exit', () => resolve('ended'))
    child.once('error', () => resolve('ended'))
    timer.unref()
  })
  const message = how === 'ended' ? lastWords(log, before) : ''
  closeSync(log)
  if (how === 'ended')
    throw new DaemonFault(
      'failure',
      message === '' ? 'The daemon exited during startup.' : `The daemon exited during startup: ${message}`,
      `See the log: ${file}`,
    )
  child.disconnect()
  child.unref()
  const linked = how === 'linked' ? 'and connected' : "but not connected yet: the server isn't responding"
  return `The daemon is running (process ${child.pid}) ${linked}. Log: ${file}`
}

const MAX_WORDS = 2_000

function lastWords(log: number, from: number): string {
  const bytes = Buffer.alloc(MAX_WORDS)
  const start = Math.max(from, fstatSync(log).size - MAX_WORDS)
  const text = bytes.toString('utf8', 0, readSync(log, bytes, 0, MAX_WORDS, start))
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => /^\S/.test(line))
  const begins = lines.findLastIndex((line) => line.startsWith('uk: '))
  const last = begins < 0 ? lines.slice(-1) : lines.slice(begins, begins + 2)
  return last.map((line) => line.replace(/^uk: |^\d{4}-\S+Z /, '')).join(' ')
}
