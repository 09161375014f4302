import type { Db } from '#infra/postgres/client.ts'
import { type Id, newId } from '#core/ids.ts'
import { type AutomationRunRow, type SkipReason, type Trigger, runStore } from './run-store.ts'
import { type RemainingStarts, takeStart } from './starts-store.ts'
import { type AutomationRow } from '../store.ts'

/** Queued runs per automation. Further firings are skipped. */
export const MAX_QUEUED = 100

export interface Firing {
  automation: Pick<AutomationRow, 'id' | 'workspace_id' | 'overlap' | 'account_id'>
  trigger: Trigger
  at: Date | null
  webhookId: string | null
  payload: string | null
  skip: SkipReason | null
}

export interface AdmittedRuns {
  rows: AutomationRunRow[]
  giveWay: Id[]
}

/**
 * Creates rows for firings in order, within the overlap policies and the accounts' remaining starts. The caller has
 * locked the automations.
 */
export async function admit(
  db: Db,
  firings: readonly Firing[],
  now: Date,
  remainingStarts: RemainingStarts = new Map(),
): Promise<AdmittedRuns> {
  const busy = await runStore.busy(db, [...new Set(firings.map(({ automation }) => automation.id))])
  const giveWay = new Set<Id>()
  const rows = firings.map(({ automation, trigger, at, webhookId, payload, skip }) => {
    const others = busy.get(automation.id) ?? []
    let reason = skip
    if (reason === null && others.length > 0 && (automation.overlap === 'skip' || others.length >= MAX_QUEUED))
      reason = 'overlap'
    if (reason === null && !takeStart(remainingStarts, automation.account_id)) reason = 'rate_limited'
    if (reason === null && automation.overlap === 'cancel_previous') for (const id of others.splice(0)) giveWay.add(id)
    const id = newId()
    if (reason === null) busy.set(automation.id, [...others, id])
    return {
      id,
      automation_id: automation.id,
      workspace_id: automation.workspace_id,
      status: reason === null ? ('queued' as const) : ('skipped' as const),
      skip_reason: reason,
      trigger,
      scheduled_for: at,
      webhook_id: webhookId,
      payload: reason === null ? payload : null,
      completed_at: reason === null ? null : now,
    }
  })
  const insertedRows: AutomationRunRow[] = []
  for (let i = 0; i < rows.length; i += 1_000)
    insertedRows.push(...(await runStore.insert(db, rows.slice(i, i + 1_000))))
  // A run replaced within the same batch is inserted as skipped.
  const insertedIds = new Set(insertedRows.map(({ id }) => id))
  const instead = rows.filter(({ id }) => giveWay.has(id)).map(({ id }) => id)
  for (const id of instead)
    if (insertedIds.has(id)) {
      const at = insertedRows.findIndex((row) => row.id === id)
      insertedRows[at] = await runStore.update(db, id, { status: 'skipped', skip_reason: 'overlap', completed_at: now })
      giveWay.delete(id)
    }
  return { rows: insertedRows, giveWay: [...giveWay] }
}
