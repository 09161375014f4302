import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Target } from './credentials.ts'
import type { Terminal } from '../terminal.ts'

/** Local state for one account on one server. Holds no secrets, and the server doesn't rely on it. */
export interface Remembered {
  /** The workspace for commands that name none. */
  workspace?: { id: string; name: string }
  /** The chat `uk ask -c` and `uk chat -c` continue. */
  last_chat?: string
}

export const stateFolder = ({ env }: Terminal): string =>
  join(env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'ukiyo')

const stateFile = (terminal: Terminal): string => join(stateFolder(terminal), 'state.json')

/** Keyed by account, so another account never continues this one's chat. */
const placeOf = ({ origin, account }: Target): string => `${origin} ${account}`

async function readAll(terminal: Terminal): Promise<Record<string, Remembered>> {
  try {
    return JSON.parse(await readFile(stateFile(terminal), 'utf8')) as Record<string, Remembered>
  } catch {
    // Losing it only costs a `-c` or a `uk workspaces use`.
    return {}
  }
}

export const remembered = async (target: Target, terminal: Terminal): Promise<Remembered> =>
  (await readAll(terminal))[placeOf(target)] ?? {}

/** Updates the state. The last of two concurrent writers wins, and a write error only prints a warning. */
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
    terminal.err(`uk: can't write ${file}: ${(error as Error).message}`)
  }
}
