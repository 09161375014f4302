import type { Kysely } from 'kysely'
import type { Database } from '#infra/postgres/tables.ts'
import { rightsChanged } from '#authz/rights.ts'
import { challengeStore } from './challenges.ts'
import { hashPassword } from './password.ts'
import { accountStore, sessionStore } from '../store.ts'

/** For the host's CLI. Ends all sessions. False: no account has this address. */
export async function resetPassword(db: Kysely<Database>, email: string, password: string): Promise<boolean> {
  const password_hash = await hashPassword(password)
  return db.transaction().execute(async (db) => {
    const account = await accountStore.byEmail(db, email)
    if (!account) return false
    await challengeStore.forget(db, 'recovery', account.id)
    await accountStore.setPassword(db, account.id, password_hash)
    await sessionStore.endOthers(db, account.id, null)
    await rightsChanged(db, [account.id])
    return true
  })
}
