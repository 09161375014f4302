/** What a start needs of the daemon inside a cloud computer: its state file, and that it connects. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { CAPABILITIES } from '#core/scopes.ts'
import type { HasLinks } from '../../link/links.ts'
import { addCredential, retireOthers } from '../../pairing/credentials.ts'
import { type Driver, DriverFault } from '../driver.ts'
import { type CloudRow, boxOf, cloudStore } from '../store.ts'

/** The time that the daemon has to connect. */
const CONNECT_MS = 30_000
const LOOK_MS = 50

/** All capabilities but `users`: a cloud computer has one account. */
export const ALLOWED = CAPABILITIES.filter((one) => one !== 'users')

/** The daemon's state file. Each start gets a new credential and ends the earlier ones. */
export async function stateFileOf(db: Db, { computer_id, name, made }: CloudRow): Promise<string> {
  const machine = await addCredential(db, computer_id)
  if (made) await retireOthers(db, machine, 0)
  return JSON.stringify({
    server_url: 'http://ukiyo',
    computer_id,
    name,
    credential: machine.credential,
    previous: null,
    allows: ALLOWED,
    roots: ['/'],
  })
}

/** Waits until the daemon connects. Returns false if the computer's state changed meanwhile. */
export async function comesOnline(
  engine: Engine<HasLinks>,
  row: CloudRow,
  driver: Driver,
  epochBefore: bigint | null,
  stopping: AbortSignal,
): Promise<boolean> {
  const id = row.computer_id
  const box = boxOf(row)
  const deadline = performance.now() + CONNECT_MS
  for (;;) {
    const isOnline = await engine.links.online(id, 500)
    if (isOnline && (epochBefore === null || (await cloudStore.linkEpoch(engine.postgres.db, id)) > epochBefore))
      return true
    if (isOnline) await sleep(LOOK_MS)
    const now = await cloudStore.get(engine.postgres.db, id)
    if (now?.lifecycle !== row.lifecycle || stopping.aborted) return false
    if (!(await driver.lives(box)))
      throw new DriverFault(`The computer exited while starting: ${await driver.lastWords(box)}`)
    if (performance.now() > deadline)
      throw new DriverFault(`The computer’s daemon didn’t connect within 30 seconds: ${await driver.lastWords(box)}`)
  }
}
