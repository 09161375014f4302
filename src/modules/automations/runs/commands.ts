/** Runs whose action is a command: they end with the computer's operation. */
import { startCommand } from '#modules/computers/service.ts'
import { endedOperations } from '#modules/operations/service.ts'
import type { Context, Engine } from '#infra/context.ts'
import type { ErrorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Action, AutomationRow } from '../store.ts'
import { type End, end } from './end.ts'
import { type AutomationRunRow, runStore } from './run-store.ts'
import { runEvent } from './show-run.ts'

type Command = Extract<Action, { type: 'command' }>

/** The webhook body becomes the command's stdin. */
export async function beginCommand(
  ctx: Context,
  automation: AutomationRow,
  { computer_id, command }: Command,
  run: AutomationRunRow,
): Promise<void> {
  const operation_id = await startCommand(ctx, {
    computerId: computer_id,
    command,
    stdin: run.payload,
    env: { UK_AUTOMATION_ID: automation.id, UK_AUTOMATION_RUN_ID: run.id },
    timeoutMs: automation.timeout_seconds * 1000,
  })
  const updatedRun = await runStore.update(ctx.db, run.id, {
    status: 'running',
    operation_id,
    started_at: ctx.now(),
    error: null,
  })
  await ctx.emit(runEvent(updatedRun, 'started', automation))
}

export async function settleCommands(engine: Engine, operationIds: readonly Id[]): Promise<void> {
  const { db } = engine.postgres
  const operationEnds = await endedOperations(db, operationIds)
  for (const operation of operationEnds) {
    const runId = await runStore.byOperation(db, operation.id)
    if (runId === null) continue
    await db.transaction().execute(async (tx) => {
      const run = await runStore.lock(tx, runId)
      if (run?.operation_id === operation.id && run.status === 'running') await end(tx, run, endOf(operation))
    })
  }
  if (operationEnds.length === 0) return
  engine.bus.poke('outbox')
  engine.bus.poke('automations')
}

interface OperationEnd {
  status: string
  result: unknown
  error: ErrorBody['error'] | null
}

function endOf({ status, result, error }: OperationEnd): End {
  if (status === 'cancelled') return { status: 'cancelled', error: null, cost: null }
  if (status === 'failed') return { status: 'failed', error, cost: null }
  const { exit_code, signal, timed_out } = (result ?? { timed_out: true }) as {
    exit_code?: number | null
    signal?: string | null
    timed_out?: boolean
  }
  if (status === 'expired' || timed_out === true)
    return {
      status: 'timed_out',
      error: { type: 'timeout', message: 'The command ran longer than `timeout_seconds`.' },
      cost: null,
    }
  if (exit_code === 0) return { status: 'succeeded', error: null, cost: null }
  const how = exit_code == null ? `was terminated by ${signal ?? 'a signal'}` : `exited with code ${exit_code}`
  return {
    status: 'failed',
    error: {
      type: 'conflict',
      code: 'command_failed',
      message: `The command ${how}.`,
      details: { exit_code: exit_code ?? null, signal: signal ?? null },
    },
    cost: null,
  }
}
