import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Target } from './credentials.ts'
import type { Terminal } from '../terminal.ts'

/** The program's memory of one person at one instance: nothing secret, and nothing that the server must trust. */
export interface Remembered {
  /** The workspace that commands mean where none is named. */
  workspace?: { id: string; name: string }
  /** The chat that `uk ask -c` and `uk chat -c` go on with. */
  last_chat?: string
}

export const stateFolder = ({ env }: Terminal): string =>
  join(env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'ukiyo')

const stateFile = (terminal: Terminal): string => join(stateFolder(terminal), 'state.json')

/** A key by its visible beginning: whoever signs in as somebody else does not go on with the chat of the one before. */
const placeOf = ({ origin, account }: Target): string => `${origin} ${account}`

async function readAll(terminal: Terminal): Promise<Record<string, Remembered>> {
  try {
    return JSON.parse(await readFile(stateFile(terminal), 'utf8')) as Record<string, Remembered>
  } catch {
    // Lost or damaged, it costs a `-c` or a `uk workspaces use`.
    return {}
  }
}

export const remembered = async (target: Target, terminal: Terminal): Promise<Remembered> =>
  (await readAll(terminal))[placeOf(target)] ?? {}

/** Changes what is remembered; of two programs at once the last one wins. A disk that takes nothing is no reason to fail. */
export async function remember(
  target: Target,
  change: { [K in keyof Remembered]: Remembered[K] | undefined },
  terminal: Terminal,
): Promise<void> {
  const file = stateFile(terminal)
  const all = await readAll(terminal)
  const place = placeOf(target)
  const now = { ...all[place], ...change }
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const fresh = `${file}.${process.pid}`
    await writeFile(fresh, `${JSON.stringify({ ...all, [place]: now }, null, 2)}\n`, { mode: 0o600 })
    await rename(fresh, file)
  } catch (error) {
    terminal.err(`uk: ${file} cannot be written: ${(error as Error).message}`)
  }
}
