import type { z } from 'zod'
import { showOperations } from '#modules/operations/service.ts'
import type { Db } from '#infra/postgres/client.ts'
import { iso } from '#core/time.ts'
import type { LocalInferenceOperation, LocalModel } from '../contract-local-inference.ts'
import type { LocalModelRow } from './model-store.ts'
import type { LocalOperationRow } from './operation-store.ts'

export const showLocalModel = (row: LocalModelRow, online = true): z.output<typeof LocalModel> => ({
  id: row.id,
  computer_id: row.computer_id,
  name: row.name,
  engine: row.engine,
  size_bytes: Number(row.size_bytes),
  digest: row.digest,
  context_length: row.context_length,
  quantization: row.quantization,
  status: row.status,
  mapping: row.mapping,
  loaded: row.loaded && online,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

export type ShownOperation = z.output<typeof LocalInferenceOperation>

export async function showLocalOperations(db: Db, rows: readonly LocalOperationRow[]): Promise<ShownOperation[]> {
  const operations = await showOperations(
    db,
    rows.map((row) => row.operation_id),
  )
  const byId = new Map(rows.map((row) => [row.operation_id, row]))
  return operations.map((operation) => {
    const { computer_id, model_id, phase, bytes_done, bytes_total } = byId.get(operation.id)!
    return {
      ...operation,
      computer_id,
      local_model_id: model_id,
      phase,
      bytes_done: Number(bytes_done),
      bytes_total: bytes_total === null ? null : Number(bytes_total),
    }
  })
}
