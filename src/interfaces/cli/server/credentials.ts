import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Globals } from '../globals.ts'
import { Stop } from '../exit.ts'
import type { Terminal } from '../terminal.ts'

/** The stored login: one server and one key. */
export interface Login {
  origin: string
  key: string
  key_id: string
  email: string
}

export const loginFile = ({ env }: Terminal): string =>
  join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'ukiyo', 'credentials.json')

export async function readLogin(terminal: Terminal): Promise<Login | null> {
  const file = loginFile(terminal)
  try {
    const login = JSON.parse(await readFile(file, 'utf8')) as Login
    if (typeof login.origin !== 'string' || typeof login.key !== 'string') throw new SyntaxError('not a login')
    if (((await stat(file)).mode & 0o077) !== 0)
      terminal.err(`uk: other users can read ${file}. Fix it: chmod 600 ${file}`)
    return login
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new Stop(
      'failure',
      `Can't read ${file}: ${(error as Error).message}.`,
      'Delete the file and run `uk login` again.',
    )
  }
}

/** Writes a temporary file, syncs and renames it, so a crash leaves either the old login or the new one. */
export async function writeLogin(terminal: Terminal, login: Login): Promise<string> {
  const file = loginFile(terminal)
  const folder = dirname(file)
  const fresh = `${file}.${process.pid}`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const handle = await open(fresh, 'w', 0o600)
  try {
    await handle.chmod(0o600)
    await handle.writeFile(`${JSON.stringify(login, null, 2)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(fresh, file)
  return file
}

export const forgetLogin = (terminal: Terminal): Promise<void> => rm(loginFile(terminal), { force: true })

export interface Target {
  origin: string
  /** Undefined when not signed in to this origin. */
  key: string | undefined
  /** The credential's owner: an email, or the visible prefix of a key. */
  account: string
}

/** Resolves the server and its key. A stored key is sent only to the origin that issued it. */
export async function targetOf(terminal: Terminal, { origin: asked }: Globals): Promise<Target> {
  const { UK_KEY, UK_ORIGIN } = terminal.env
  const login = await readLogin(terminal)
  const origin = originOf(asked ?? UK_ORIGIN ?? login?.origin ?? 'http://127.0.0.1:4242')
  const own = login && originOf(login.origin) === origin ? login : undefined
  const account = UK_KEY ? UK_KEY.slice(0, 11) : (own?.email ?? '')
  return { origin, key: UK_KEY || own?.key, account }
}

function originOf(words: string): string {
  if (URL.canParse(words) && /^https?:/.test(words)) return new URL(words).origin
  throw new Stop(
    'usage',
    `"${words}" isn't a server address.`,
    'Use an address such as https://uk.example.com or http://127.0.0.1:4242.',
  )
}
