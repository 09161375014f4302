import { fstatSync } from 'node:fs'
import type { Terminal } from '../terminal.ts'
import { readText } from './input.ts'

/** After so long a person is told what is waited for: something keeps the pipe open and writes nothing. */
const PATIENCE_MS = 3_000

/** All that is piped in; empty where a person sits at stdin, or where it is closed. `enough`: there is text without it. */
export async function piped(enough: boolean, terminal: Terminal): Promise<string> {
  if (process.stdin.isTTY || !isPipe()) return ''
  const timer = setTimeout(() => {
    if (enough) terminal.err('Waiting for the end of what is piped in; with </dev/null nothing is.')
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
