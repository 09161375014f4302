import { createBatches } from '#infra/batches.ts'
import type { Log } from '#infra/log.ts'
import type { Db, Postgres } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { claimStore } from '../runs/claim-store.ts'
import type { RunRow } from '../runs/run-store.ts'
import { chatStore } from '../store.ts'
import { type Claim, type End, type EndResult, claim, claimNext, end, endAll } from '../runs/transitions.ts'

export interface FinishResult {
  ended: EndResult
  next: Claim | null
}

const AT_ONCE = 200

/**
 * Finishes this process's runs, concurrent ones in one transaction, and claims the next run of each chat. A run whose
 * chat is locked or whose text can't be stored gets its own transaction.
 * Null if the run was deleted or taken over.
 */
export function createFinisher({ postgres, processId, log }: { postgres: Postgres; processId: Id; log: Log }) {
  const { db } = postgres
  const together = createBatches(AT_ONCE, async (items: Finishing[]): Promise<(FinishResult | null | 'alone')[]> => {
    try {
      return await db.transaction().execute((tx) => finishAll(tx, items))
    } catch (error) {
      log.debug({ error, runs: items.length }, 'run results were not written in a batch')
      return items.map(() => 'alone')
    }
  })

  async function finishAll(tx: Db, items: readonly Finishing[]): Promise<(FinishResult | null | 'alone')[]> {
    const locked = await chatStore.lockFree(
      tx,
      items.map(({ run }) => run.chat_id),
    )
    const free = items.filter(({ run }) => locked.has(run.chat_id))
    const endResults = new Map((await endAll(tx, free)).map((one, i) => [free[i]!.run.id, one]))
    const turns = free.filter(({ handOn, run }) => handOn && endResults.get(run.id)).map(({ run }) => run.chat_id)
    const next = new Map<Id, Claim>()
    for (const id of turns.length === 0 ? [] : await claimStore.nextOf(tx, turns)) {
      const claimed = await claim(tx, id, processId)
      if (claimed) next.set(claimed.run.chat_id, claimed)
    }
    return items.map(({ run }) => {
      const result = endResults.get(run.id)
      if (result === undefined) return 'alone'
      return result && { ended: result, next: next.get(run.chat_id) ?? null }
    })
  }

  const finishAlone = ({ handOn, ...one }: Finishing): Promise<FinishResult | null> =>
    db.transaction().execute(async (tx) => {
      if ((await chatStore.lock(tx, one.run.chat_id)) === null) return null
      const result = await end(tx, one)
      return result && { ended: result, next: handOn ? await claimNext(tx, one.run.chat_id, processId) : null }
    })

  return async (item: Finishing): Promise<FinishResult | null> => {
    const result = await together(item)
    return result === 'alone' ? finishAlone(item) : result
  }
}

/** `handOn`: claim the chat's next run in this process. */
interface Finishing extends End {
  run: RunRow
  handOn: boolean
}
