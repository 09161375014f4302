import type { Input } from '#core/contract.ts'
import type { Context } from '#infra/context.ts'
import { startOperation } from '#modules/operations/service.ts'
import type { Background, Event } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import type { exec as endpoint } from '../contract-exec.ts'
import type { HasLinks } from '../link/links.ts'
import { workspaceFor } from '../access.ts'
import type { ComputerRow } from '../store.ts'
import { createCapture } from './capture.ts'
import { follow } from './follow.ts'
import { narrate } from './narrate.ts'
import { execOperation } from './background/operation.ts'
import { openStdins } from './open-stdins.ts'
import { watchPermission } from './permission.ts'
import { type Result, resultOf } from './result.ts'
import { type Command, type ExecPart, runExec } from './run-exec.ts'

export type ExecInput = Input<typeof endpoint>

const DEFAULT_TIMEOUT_MS = 60_000
/** The default for agents, because models read all of it. */
const MAX_AGENT_BYTES = 32_768

export async function exec(
  ctx: Context<HasLinks>,
  row: ComputerRow,
  { id, background, ...input }: ExecInput,
): Promise<Result | Background | AsyncIterable<Event>> {
  const command = commandOf(input, background ? null : DEFAULT_TIMEOUT_MS)
  const base64 = input.encoding === 'base64'
  const maxBytes = input.max_output_bytes ?? (ctx.agent === null ? null : MAX_AGENT_BYTES)
  if (background) {
    const { stdin, key: _, ...rest } = command
    const backgroundRun = await startOperation(
      ctx,
      execOperation,
      {
        computer_id: id,
        base64,
        most: maxBytes,
        command: { ...rest, stdin_base64: stdin && Buffer.from(stdin).toString('base64') },
      },
      { resource: { type: 'computer', id }, workspaceId: workspaceFor(ctx.principal, row, 'exec') },
    )
    return ctx.wantsEvents ? follow(ctx, id, { ...command, key: backgroundRun.operation.id }, base64) : backgroundRun
  }
  if (command.stdin_open)
    await openStdins.note(ctx.db, {
      exec_id: command.key,
      computer_id: id,
      account_id: ctx.principal.accountId,
      workspace_id: workspaceFor(ctx.principal, row, 'exec'),
    })
  if (!ctx.wantsEvents) {
    // The pipeline only checks permissions of streaming callers.
    await using permitted = watchPermission(ctx, id, 'exec', ctx.signal)
    const parts = runExec(ctx.engine.links, id, command, { signal: permitted.signal })
    return await collect(command.key, parts, base64, maxBytes)
  }
  const parts = runExec(ctx.engine.links, id, command, { signal: ctx.signal })
  // Started before the response, so an unreachable computer is a refusal.
  const first = await parts.next()
  return narrate(command.key, first, parts, base64)
}

export function commandOf(
  {
    command,
    argv,
    stdin,
    stdin_base64,
    stdin_open,
    timeout_ms,
    cwd,
    env,
    user,
  }: Omit<ExecInput, 'id' | 'background' | 'encoding' | 'max_output_bytes'>,
  defaultTimeout: number | null,
  key: Id = newId(),
): Command {
  if ((command === undefined) === (argv === undefined))
    return refuse(command === undefined ? 'missing_parameter' : 'invalid_parameter', {
      param: 'command',
      message: 'Send either `command` or `argv`.',
    })
  if (stdin !== undefined && stdin_base64 !== undefined)
    return refuse('invalid_parameter', { param: 'stdin', message: 'Send either `stdin` or `stdin_base64`.' })
  return {
    key,
    argv: argv ?? ['/bin/sh', '-c', command!],
    cwd,
    env,
    user,
    timeout_ms: timeout_ms === undefined ? defaultTimeout : timeout_ms,
    stdin:
      stdin !== undefined
        ? Buffer.from(stdin)
        : stdin_base64 !== undefined
          ? Buffer.from(stdin_base64, 'base64')
          : null,
    stdin_open,
  }
}

async function collect(
  id: Id,
  parts: AsyncIterable<ExecPart>,
  base64: boolean,
  maxBytes: number | null,
): Promise<Result> {
  const capture = maxBytes === null ? createCapture() : createCapture(maxBytes, 'both_ends')
  for await (const part of parts) {
    if (part.type === 'bytes') capture.add(part.channel, part.offset, part.bytes)
    else if (part.type === 'ended') return resultOf(id, part.end, capture, base64)
  }
  throw new Error('a command ended without an end')
}
