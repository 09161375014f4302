/** State of a paired machine on disk: its identity, its server, and what that server may do. */
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { CAPABILITIES } from '#daemon-protocol/operations.ts'
import { KeptEngines } from './engines/settings.ts'

const DaemonState = z.object({
  server_url: z.string(),
  computer_id: z.string(),
  name: z.string(),
  credential: z.string(),
  /** The previous credential, in case the server hasn't received the new one. */
  previous: z.object({ credential: z.string() }).nullable().default(null),
  /** Capabilities the owner granted. */
  allows: z.array(z.enum(CAPABILITIES)),
  /** The folders the server may access. */
  roots: z.array(z.string()),
  /** Whether the server may update this program. Null: `mayUpdate` decides from `allows`. */
  updates: z.boolean().nullable().default(null),
  /** Settings of local models. */
  engines: KeptEngines.default({}),
})
export type DaemonState = z.infer<typeof DaemonState>

/** An error the user can act on. */
export class DaemonFault extends Error {
  override name = 'DaemonFault'
  /** `auth`: the server no longer knows this machine. */
  readonly kind: 'usage' | 'auth' | 'failure'
  readonly hint: string | undefined
  constructor(kind: DaemonFault['kind'], message: string, hint?: string) {
    super(message)
    this.kind = kind
    this.hint = hint
  }
}

export const stateDir = (env: Readonly<Record<string, string | undefined>>): string =>
  env.UK_CONFIG_DIR || join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'ukiyo')

const fileIn = (folder: string): string => join(folder, 'computer.json')

/** The credentials the server may know, the most likely first. */
export const credentialsOf = ({ credential, previous }: DaemonState): string[] => [
  credential,
  ...(previous ? [previous.credential] : []),
]

/** Null if this machine isn't paired. */
export async function readState(folder: string): Promise<DaemonState | null> {
  const file = fileIn(folder)
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new DaemonFault('failure', `Can't read ${file}: ${(error as Error).message}.`)
  }
  try {
    return DaemonState.parse(JSON.parse(text))
  } catch {
    throw new DaemonFault(
      'failure',
      `${file} is corrupted.`,
      'Delete the file and pair this machine again: `uk computer pair`.',
    )
  }
}

/** Writes to a temporary file, syncs and renames, so a crash leaves the old or the new state. */
export async function writeState(folder: string, state: z.input<typeof DaemonState>): Promise<void> {
  await makeFolder(folder)
  const file = fileIn(folder)
  const fresh = `${file}.${process.pid}`
  const handle = await open(fresh, 'w', 0o600)
  try {
    await handle.chmod(0o600)
    await handle.writeFile(`${JSON.stringify(state, null, 2)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(fresh, file)
  await using parent = await open(folder, 'r')
  await parent.sync()
}

/** Readable by its owner only. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
}
