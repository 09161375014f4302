import type { Context } from '#infra/context.ts'
import { type Running, defineOperation } from '#modules/operations/service.ts'
import type { Id } from '#core/ids.ts'
import type { HasLinks } from '../../link/links.ts'
import { checkPermitted, watchPermission } from '../permission.ts'
import { MAX_BYTES, createCapture, createTextCutter } from '../capture.ts'
import { type Command, runExec } from '../run-exec.ts'
import { resultOf } from '../result.ts'
import { runningCommands } from './running-commands.ts'

export interface ExecInput {
  computer_id: Id
  base64: boolean
  /** Bytes per channel in the result. */
  most: number | null
  command: Omit<Command, 'stdin' | 'key'> & { stdin_base64: string | null }
}

const DAY_SECONDS = 86_400
const PATIENCE_MS = 7 * DAY_SECONDS * 1000
/** Per channel. The operation's content has all stored output. */
const MAX_RESULT_BYTES = 1_048_576

export const execOperation = defineOperation<ExecInput, HasLinks>('computers.exec', runInBackground, {
  // A retry with the same key doesn't start the command twice.
  repeatable: true,
  attempts: 1_000,
  scope: 'computer:exec',
  expiresInSeconds: 7 * DAY_SECONDS,
})

async function runInBackground(
  ctx: Context<HasLinks>,
  { computer_id, base64, most, command }: ExecInput,
  operation: Running,
) {
  const { stdin_base64, ...rest } = command
  await checkPermitted(ctx, computer_id, 'exec')
  await runningCommands.note(ctx.db, operation.id, computer_id)
  await using permitted = watchPermission(ctx, computer_id, 'exec', operation.cancelled)
  const parts = runExec(
    ctx.engine.links,
    computer_id,
    { ...rest, key: operation.id, stdin: stdin_base64 === null ? null : Buffer.from(stdin_base64, 'base64') },
    {
      signal: permitted.signal,
      patienceMs: PATIENCE_MS,
      leaving: operation.signal,
      // A previous server process may have started it. The computer reconnects once it notices.
      underWay: operation.attempt > 1,
    },
  )
  const shownBytes = { stdout: 0, stderr: 0 }
  const result = createCapture(
    Math.min(most ?? MAX_RESULT_BYTES, MAX_RESULT_BYTES),
    most === null ? 'first' : 'both_ends',
  )
  const cutters = { stdout: createTextCutter(), stderr: createTextCutter() }
  for await (const part of parts) {
    if (part.type === 'bytes') {
      result.add(part.channel, part.offset, part.bytes)
      shownBytes[part.channel] += part.bytes.length
      if (shownBytes[part.channel] <= MAX_BYTES)
        operation.append(cutters[part.channel].add(part.offset, part.bytes)?.text ?? '')
    } else if (part.type === 'ended') {
      await runningCommands.forget(ctx.db, operation.id)
      for (const cutter of Object.values(cutters)) operation.append(cutter.end()?.text ?? '')
      return { result: storable(resultOf(operation.id, part.end, result, base64)) }
    }
  }
  throw new Error('a command ended without an end')
}

/** PostgreSQL text can't contain NUL. */
const storable = <T extends { stdout: string; stderr: string }>(result: T): T => ({
  ...result,
  stdout: result.stdout.replaceAll('\0', '\uFFFD'),
  stderr: result.stderr.replaceAll('\0', '\uFFFD'),
})
