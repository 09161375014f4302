/** The command line in tests: the program as a person runs it, and a terminal for its parts. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { join } from 'node:path'
import type { Terminal } from '#interfaces/cli/terminal.ts'

export const program = join(import.meta.dirname, '../../bin/uk')

/** What a program that has ended put out. */
export interface Ran {
  code: number | null
  out: string
  err: string
}

export function ranBy(child: ChildProcessWithoutNullStreams, stdin = ''): Promise<Ran> {
  const ran: Ran = { code: null, out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.err += text))
  child.stdin.on('error', () => {}).end(stdin)
  return new Promise((resolve, reject) => child.on('error', reject).on('close', (code) => resolve({ ...ran, code })))
}

/** A terminal that keeps what it is told. */
export function recorder(more: Partial<Terminal> = {}): Terminal & { said: string[]; told: string[] } {
  const said: string[] = []
  const told: string[] = []
  return {
    said,
    told,
    out: async (text) => void said.push(String(text)),
    err: (text) => void told.push(text),
    interactive: false,
    canAsk: false,
    columns: 80,
    env: {},
    style: (_, text) => text,
    query: async () => '',
    onInterrupt: () => () => {},
    ...more,
  }
}
