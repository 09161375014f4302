/**
 * Tracks which daemons run from a shared program folder (`$XDG_DATA_HOME/ukiyo`). Their server updates it, so all
 * of them must belong to one server: an update from another would run with this server's credential.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { takeLock } from '../lock.ts'
import { DaemonFault } from '../state.ts'

/** A daemon started from the place, stored as two lines in `daemons/<hash of its folder>`. `/install` reads it too. */
interface Claim {
  server: string
  folder: string
}

const LOCK_MS = 10

/** Throws if another paired daemon of the place belongs to another server. */
export async function checkPlace(place: string, folder: string, server: string): Promise<void> {
  const own = resolve(folder)
  const other = (await claimsOf(place)).find((one) => one.server !== server && one.folder !== own)
  if (other !== undefined)
    throw new DaemonFault(
      'usage',
      `The program in ${place} was installed from ${other.server} for the daemon in ${other.folder}, so it can't connect to ${server}.`,
      `Install another copy in a separate folder: \`curl -fsS ${server}/install | XDG_DATA_HOME=… sh\`.`,
    )
}

export async function claimPlace(place: string, folder: string, server: string): Promise<void> {
  const claims = join(place, 'daemons')
  await mkdir(claims, { recursive: true, mode: 0o700 })
  using _turn = await turn(join(place, 'daemons.lock'))
  await checkPlace(place, folder, server)
  const own = resolve(folder)
  const file = join(claims, createHash('sha256').update(own).digest('hex').slice(0, 16))
  await writeFile(`${file}.next`, `${server}\n${own}\n`, { mode: 0o600 })
  await rename(`${file}.next`, file)
}

/** Serializes claims, so each daemon sees the earlier ones. */
async function turn(file: string): Promise<Disposable> {
  for (;;) {
    const lock = takeLock(file)
    if (lock !== null) return lock
    await sleep(LOCK_MS)
  }
}

/** Skips daemons whose machine is no longer paired. */
async function claimsOf(place: string): Promise<Claim[]> {
  const claims = join(place, 'daemons')
  const names = (await readdir(claims).catch(() => [])).filter((name) => !name.endsWith('.next'))
  const texts = await Promise.all(names.map((name) => readFile(join(claims, name), 'utf8').catch(() => '')))
  return texts.flatMap((text) => {
    const [server = '', folder = ''] = text.split('\n')
    return folder !== '' && existsSync(join(folder, 'computer.json')) ? [{ server, folder }] : []
  })
}
