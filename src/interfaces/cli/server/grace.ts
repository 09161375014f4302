import { mkdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { stateFolder } from './state.ts'
import type { Terminal } from '../terminal.ts'

/** How long a terminal isn't asked for the password again. */
const GRACE_MS = 5 * 60_000

/** A session from a typed password, reused by the next commands in the same terminal. */
export interface KeptSession {
  origin: string
  email: string
  terminal: string
  cookies: [name: string, value: string][]
  /** Milliseconds since 1970. */
  until: number
}

const fileOf = (terminal: Terminal): string =>
  terminal.env.XDG_RUNTIME_DIR
    ? join(terminal.env.XDG_RUNTIME_DIR, 'ukiyo', 'session.json')
    : join(stateFolder(terminal), 'session.json')

/** This terminal's device and parent process; null if unknown. */
const here = async (): Promise<string | null> => {
  const name = await readlink('/proc/self/fd/0').catch(() => null)
  return name?.startsWith('/dev/') ? `${name} ${process.ppid}` : null
}

/** The kept session and whether it can be used now. Unusable ones must be signed out. */
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

/** Keeps a session for a few minutes. Returns false if the terminal can't be identified. */
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
