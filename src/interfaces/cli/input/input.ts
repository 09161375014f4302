import { readFile } from 'node:fs/promises'
import { Stop } from '../exit.ts'

let stdin: Promise<string> | null = null

/** Reads a file, or with `-` all of stdin, which can be read only once. */
export async function readText(from: string): Promise<string> {
  if (from !== '-') {
    try {
      return await readFile(from, 'utf8')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new Stop(
        'usage',
        code === 'ENOENT' ? `${from} doesn't exist on this machine.` : `${from} can't be read (${code}).`,
        `@ reads a file. To send the text @${from}, write @@${from}.`,
      )
    }
  }
  if (stdin) throw new Stop('usage', 'Only one field can read from stdin.')
  stdin = drain()
  return stdin
}

async function drain(): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of process.stdin) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}
