import { mkdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stateFolder } from './state.ts'
import type { Terminal } from '../terminal.ts'

/** The time after a password was typed in which its terminal is not asked again. */
const GRACE_MS = 5 * 60_000

/** A session that a typed password began, kept for the next commands of the same terminal. */
export interface KeptSession {
  origin: string
  email: string
  /** The terminal that it was typed in. */
  terminal: string
  cookies: [name: string, value: string][]
  /** Milliseconds since 1970. */
  until: number
}

const fileOf = (terminal: Terminal): string =>
  terminal.env.XDG_RUNTIME_DIR
    ? join(terminal.env.XDG_RUNTIME_DIR, 'ukiyo', 'session.json')
    : join(stateFolder(terminal), 'session.json')

/** The name of this terminal, as the system gives it; null where it does not say. */
const here = async (): Promise<string | null> => {
  const name = await readlink('/proc/self/fd/0').catch(() => null)
  return name?.startsWith('/dev/') ? `${name} ${process.ppid}` : null
}

/** The session that is kept, and whether it may be used here and now. One that may not is to be ended. */
export async function keptSession(
  origin: string,
  email: string,
  terminal: Terminal,
): Promise<{ session: KeptSession; usable: boolean } | null> {
  try {
    const session = JSON.parse(await readFile(fileOf(terminal), 'utf8')) as KeptSession
    const own = session.origin === origin && session.email === email && session.terminal === (await here())
    return { session, usable: own && Date.now() < session.until }
  } catch {
    return null
  }
}

/** Keeps a session for a few minutes; false where it cannot be told which terminal it belongs to. */
export async function keepSession(
  session: Pick<KeptSession, 'origin' | 'email' | 'cookies'>,
  terminal: Terminal,
): Promise<boolean> {
  const place = await here()
  if (place === null) return false
  const file = fileOf(terminal)
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await rm(file, { force: true })
    await writeFile(file, JSON.stringify({ ...session, terminal: place, until: Date.now() + GRACE_MS }), {
      mode: 0o600,
      flag: 'wx',
    })
    return true
  } catch {
    return false
  }
}

export const forgetSession = (terminal: Terminal): Promise<void> => rm(fileOf(terminal), { force: true })
