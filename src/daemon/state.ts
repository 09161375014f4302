/** What a paired machine keeps on disk: who it is, which server it belongs to, and what that server may do here. */
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
  /** The one before: the server may not have heard that there is a new one. */
  previous: z.object({ credential: z.string() }).nullable().default(null),
  /** What the machine's owner lets the server do. */
  allows: z.array(z.enum(CAPABILITIES)),
  /** The folders that it may reach. */
  roots: z.array(z.string()),
  /** Whether its server may exchange this program; null: as `mayUpdate` says of what is allowed. */
  updates: z.boolean().nullable().default(null),
  /** How local models run here. */
  engines: KeptEngines.default({}),
})
export type DaemonState = z.infer<typeof DaemonState>

/** A fault that its reader can do something about. */
export class DaemonFault extends Error {
  override name = 'DaemonFault'
  /** `auth`: the server does not know this machine any more. */
  readonly kind: 'usage' | 'auth' | 'failure'
  readonly hint: string | undefined
  constructor(kind: DaemonFault['kind'], message: string, hint?: string) {
    super(message)
    this.kind = kind
    this.hint = hint
  }
}

/** The folder of a daemon's state. */
export const stateDir = (env: Readonly<Record<string, string | undefined>>): string =>
  env.UK_CONFIG_DIR || join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'ukiyo')

const fileIn = (folder: string): string => join(folder, 'computer.json')

/** The credentials that the server may know, the likeliest first. */
export const credentialsOf = ({ credential, previous }: DaemonState): string[] => [
  credential,
  ...(previous ? [previous.credential] : []),
]

/** Null: this machine is not paired. */
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

/** Written beside its place, synced and renamed: a crash leaves the old one or the new one. */
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

/** Only its owner can look into it. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
}
