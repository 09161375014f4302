import { randomBytes } from 'node:crypto'
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { StartRefused } from '../../start-refused.ts'
import type { Binaries } from './binaries.ts'
import { killHolders } from './holders.ts'
import type { Place } from './place.ts'
import { explainEnd, startProgram } from './program.ts'

export const superuser = 'ukiyo'

// Inside the cluster, so that copies and moves include it.
const passwordFile = 'ukiyo.password'

export async function openCluster(binaries: Binaries, place: Place, log: (line: string) => void): Promise<string> {
  const { cluster } = place
  if (!existsSync(join(cluster, 'PG_VERSION'))) await makeCluster(binaries, place, log)
  const version = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  const major = binaries.version.split('.')[0]
  if (version !== major)
    throw new StartRefused(
      `the database in ${cluster} was created by PostgreSQL ${version}, and this is ${major}. Migrate its data with that version’s pg_dump`,
    )
  try {
    const file = openSync(join(cluster, passwordFile), constants.O_RDONLY | constants.O_NOFOLLOW)
    const password = readFileSync(file, 'utf8')
    closeSync(file)
    return password
  } catch (error) {
    throw new StartRefused(`the database password can’t be read (${join(cluster, passwordFile)}). Restore the file`, {
      cause: error,
    })
  }
}

/** Created next to its place and renamed when complete, so a killed start leaves only temporary files. */
async function makeCluster(binaries: Binaries, place: Place, log: (line: string) => void): Promise<void> {
  const { cluster, user } = place
  if (existsSync(cluster) && readdirSync(cluster).length > 0)
    throw new StartRefused(`${cluster} isn’t empty and contains no database. Move it away`)
  await sweep(cluster)
  const making = mkdtempSync(`${cluster}.init-`)
  const password = join(making, 'password')
  try {
    writeFileSync(password, randomBytes(32).toString('base64url'), { mode: 0o600, flush: true })
    for (const path of user ? [password, making] : []) chownSync(path, user!.uid, user!.gid)
    await initialise(binaries, place, making, log)
    renameSync(password, join(making, 'data', passwordFile))
    sync(join(making, 'data'))
    renameSync(join(making, 'data'), cluster)
    if (place.link) symlinkSync(cluster, place.link)
    for (const path of [cluster, ...(place.link ? [place.link] : [])]) sync(dirname(path))
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
}

/**
 * The built-in C.UTF-8 sorts by code point independent of the machine's C library. pg_trgm uses the C library's
 * LC_CTYPE for letters, and under plain C accepts only ASCII.
 */
async function initialise(
  binaries: Binaries,
  place: Place,
  making: string,
  log: (line: string) => void,
): Promise<void> {
  const args = [
    '-D',
    join(making, 'data'),
    `--username=${superuser}`,
    `--pwfile=${join(making, 'password')}`,
    '--auth=scram-sha-256',
  ]
  args.push(
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--no-instructions',
  )
  for (const type of ['C.UTF-8', 'C']) {
    const program = startProgram(binaries, 'initdb', [...args, `--lc-ctype=${type}`], { cwd: making, user: place.user })
    const end = await program.ended
    if (end.code === 0) return
    if (type === 'C' || !program.lines.some((line) => line.includes('invalid locale name')))
      throw new StartRefused(
        `the database couldn’t be created in ${dirname(place.cluster)}: ${explainEnd('initdb', program, end, place.cluster)}`,
      )
    log('this machine has no locale C.UTF-8, so similarity search supports only ASCII letters')
  }
}

/**
 * Deletes leftovers of killed starts. Their initdb may still be running and dies meanwhile: `rmSync` treats a file that
 * vanished as the end, `rm` checks each one.
 */
async function sweep(cluster: string): Promise<void> {
  const home = dirname(cluster)
  for (const name of readdirSync(home)) {
    if (!name.startsWith(`${basename(cluster)}.init-`)) continue
    killHolders(join(home, name))
    killHolders(join(home, name, 'data'))
    await rm(join(home, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 10 })
  }
}

function sync(dir: string): void {
  const handle = openSync(dir, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
