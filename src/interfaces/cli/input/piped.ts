import { fstatSync } from 'node:fs'
import type { Terminal } from '../terminal.ts'
import { readText } from './input.ts'

/** Milliseconds until stderr says what is waited for. */
const PATIENCE_MS = 2_000

/**
 * The piped input; empty where a person sits at stdin, or where it is closed. `enough`: there is text without it. A
 * pipe that stays open is waited for all the same, since a slow writer (`uk ask … | uk ask …`) looks just like one that
 * never writes, and an answer without its words would be a wrong one; but the wait is told of.
 */
export async function piped(enough: boolean, terminal: Terminal): Promise<string> {
  if (process.stdin.isTTY || !isPipe()) return ''
  const timer = setTimeout(() => {
    if (enough) terminal.err('Waiting for stdin to end, for it is read too. Where nothing is piped in, use </dev/null.')
  }, PATIENCE_MS)
  try {
    return await readText('-')
  } finally {
    clearTimeout(timer)
  }
}

/** A pipe, a file or a socket; /dev/null and what else is a device holds nothing for us. */
function isPipe(): boolean {
  try {
    return !fstatSync(0).isCharacterDevice()
  } catch {
    return false
  }
}
