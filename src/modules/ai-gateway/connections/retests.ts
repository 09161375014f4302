import type { Log } from '#infra/log.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { connectionStore } from './connection-store.ts'

const LOOK_MS = 5_000
const AT_ONCE = 16

export interface RetestParts {
  db: Db
  log: Log
  own: readonly Id[]
  test(connection: Id): Promise<void>
}

/**
 * Retests failing connections. The rows are the queue: a claim postpones the row, so no two processes test it at once,
 * and a killed process's test is repeated.
 */
export function startRetests({ db, log, own, test }: RetestParts): AsyncDisposable {
  let isClosed = false
  let hasStarted = false
  const running = new Set<Promise<void>>()
  let looking: Promise<void> | null = null

  async function look(): Promise<void> {
    if (!hasStarted) await Promise.all(own.map((id) => connectionStore.begin(db, id, new Date())))
    hasStarted = true
    const due = await connectionStore.takeDue(db, own, AT_ONCE - running.size)
    for (const id of isClosed ? [] : due) {
      const work = test(id)
        .catch((error: unknown) => log.warn({ error, connection: id }, 'a provider endpoint was not tested'))
        .finally(() => running.delete(work))
      running.add(work)
    }
  }

  const turn = (): void => {
    if (running.size < AT_ONCE)
      looking ??= look()
        .catch((error: unknown) => log.warn({ error }, 'provider endpoints cannot be tested right now'))
        .finally(() => (looking = null))
  }
  const timer = setInterval(turn, LOOK_MS)
  turn()
  return {
    async [Symbol.asyncDispose]() {
      isClosed = true
      clearInterval(timer)
      await looking
      await Promise.all(running)
    },
  }
}
