/**
 * Whose program lies in a place (`$XDG_DATA_HOME/ukiyo`): its server exchanges it, and all daemons that are started from there
 * run what came. So they all belong to one server: what another one sends would run with the credential of this one.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { takeLock } from '../lock.ts'
import { DaemonFault } from '../state.ts'

/** A daemon that is started from the place, as `daemons/<hash of its folder>` names it: two lines, which `/install` reads as well. */
interface Claim {
  server: string
  /** Of its state. */
  folder: string
}

const LOCK_MS = 10

/** Refuses where another daemon of the place, that is still paired, belongs to another server. */
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

/** The same, and notes that the daemon of this folder is started from there, for this server. */
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

/** Of daemons that came at once each sees what the one before has noted. */
async function turn(file: string): Promise<Disposable> {
  for (;;) {
    const lock = takeLock(file)
    if (lock !== null) return lock
    await sleep(LOCK_MS)
  }
}

/** One whose machine is not paired any more has gone. */
async function claimsOf(place: string): Promise<Claim[]> {
  const claims = join(place, 'daemons')
  const names = (await readdir(claims).catch(() => [])).filter((name) => !name.endsWith('.next'))
  const texts = await Promise.all(names.map((name) => readFile(join(claims, name), 'utf8').catch(() => '')))
  return texts.flatMap((text) => {
    const [server = '', folder = ''] = text.split('\n')
    return folder !== '' && existsSync(join(folder, 'computer.json')) ? [{ server, folder }] : []
  })
}
