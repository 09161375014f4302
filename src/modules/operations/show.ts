import type { z } from 'zod'
import type { ErrorBody } from '#core/errors.ts'
import { toUsd } from '#core/money.ts'
import { iso, isoOrNull } from '#core/time.ts'
import type { Operation } from './contract.ts'
import type { OperationRow } from './store.ts'

export const showOperation = (row: OperationRow): z.output<typeof Operation> => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  kind: row.kind,
  status: row.status,
  progress: row.progress,
  result: row.result ?? null,
  error: row.error as ErrorBody['error'] | null,
  resource:
    row.resource_type !== null && row.resource_id !== null ? { type: row.resource_type, id: row.resource_id } : null,
  cost_usd: row.cost_nano === null ? null : toUsd(row.cost_nano),
  cancel_requested_at: isoOrNull(row.cancel_requested_at),
  started_at: isoOrNull(row.started_at),
  completed_at: isoOrNull(row.completed_at),
  expires_at: isoOrNull(row.expires_at),
})
