import { fstatSync } from 'node:fs'
import type { Terminal } from '../terminal.ts'
import { readText } from './input.ts'

const PATIENCE_MS = 2_000

/**
 * Reads piped input; empty without a pipe. Waits for an open pipe even if there is text without it (`enough`): a slow
 * writer (`uk ask … | uk ask …`) looks the same as one that never writes, and answering without its text would be
 * wrong.
 */
export async function piped(enough: boolean, terminal: Terminal): Promise<string> {
  if (process.stdin.isTTY || !isPipe()) return ''
  const timer = setTimeout(() => {
    if (enough) terminal.err("Waiting for input on stdin. If you're not piping anything in, add </dev/null.")
  }, PATIENCE_MS)
  try {
    return await readText('-')
  } finally {
    clearTimeout(timer)
  }
}

/** Whether stdin is a pipe, a file or a socket rather than a device such as /dev/null. */
function isPipe(): boolean {
  try {
    return !fstatSync(0).isCharacterDevice()
  } catch {
    return false
  }
}
