import type { AskedStream } from '#daemon-protocol/link.ts'
import type { Input } from '#core/contract.ts'
import type { Context } from '#infra/context.ts'
import type { Page } from '#core/answers.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import type { Principal } from '#core/principal.ts'
import { CHANNEL, type Input as Asked, type Output } from '#daemon-protocol/operations.ts'
import type { terminal as endpoint } from '../contract-terminals.ts'
import { incompleteBytes } from '../exec/capture.ts'
import { ByteCollector } from '../exec/byte-collector.ts'
import { watchPermission } from '../exec/permission.ts'
import type { HasLinks, Links } from '../link/links.ts'
import { lossesOf } from '../link/losses.ts'
import { listAll } from '../link/whole-list.ts'

type TerminalInput = Input<typeof endpoint>
/** Larger than any real screen, even with a color per character. */
export const MAX_SNAPSHOT_BYTES = 16_777_216
type Terminal = Output<'terminal.list'>['terminals'][number]

const FIELDS: Record<
  TerminalInput['action'],
  { needs: readonly (keyof TerminalInput)[]; may: readonly (keyof TerminalInput)[] }
> = {
  open: { needs: [], may: ['shell', 'argv', 'cwd', 'env', 'cols', 'rows', 'user', 'name'] },
  write: { needs: ['terminal_id', 'data'], may: ['seq'] },
  resize: { needs: ['terminal_id', 'cols', 'rows'], may: [] },
  read: { needs: ['terminal_id'], may: ['from', 'max_bytes', 'wait_ms', 'screen'] },
  close: { needs: ['terminal_id'], may: ['signal'] },
  list: { needs: [], may: [] },
}

/** Reads and waits for a lost computer can take long. */
export async function terminal(ctx: Context<HasLinks>, input: TerminalInput) {
  checkFields(input)
  await using permitted = watchPermission(ctx, input.id, 'terminal', ctx.signal)
  const { signal } = permitted
  try {
    return await act(ctx, input, signal)
  } catch (error) {
    // Prefers a refusal that caused the abort.
    throw signal.aborted && signal.reason instanceof Refusal ? signal.reason : error
  }
}

async function act(
  ctx: Context<HasLinks>,
  input: TerminalInput,
  signal: AbortSignal,
): Promise<Terminal | Page<Terminal> | Awaited<ReturnType<typeof readTerminal>>> {
  const { id, action } = input
  const { links } = ctx.engine
  const more = { signal }
  const terminal_id = input.terminal_id!
  switch (action) {
    case 'open':
      return open(links, input, signal)
    case 'list':
      return list(links, input, signal)
    case 'read':
      return readTerminal(links, input, signal)
    case 'write': {
      const data = Buffer.from(input.data!).toString('base64')
      // Makes a retry safe, even without `seq`.
      const request = { terminal_id, viewer: viewerOf(ctx.principal), data, seq: input.seq ?? null, key: newId() }
      return links.ask(id, 'terminal.write', request, more)
    }
    case 'resize':
      return links.ask(id, 'terminal.resize', { terminal_id, cols: input.cols!, rows: input.rows! }, more)
    case 'close':
      return links.ask(id, 'terminal.close', { terminal_id, signal: input.signal ?? null }, more)
  }
}

function checkFields(input: TerminalInput): void {
  const { needs, may } = FIELDS[input.action]
  const missing = needs.find((field) => input[field] === undefined)
  if (missing !== undefined)
    refuse('missing_parameter', { param: missing, message: `\`${input.action}\` needs \`${missing}\`.` })
  const allowedFields = new Set<string>(['id', 'action', 'limit', 'cursor', ...needs, ...may])
  const other = (Object.keys(input) as (keyof TerminalInput)[]).find(
    (field) => input[field] !== undefined && !allowedFields.has(field),
  )
  if (other !== undefined)
    refuse('unknown_parameter', { param: other, message: `\`${input.action}\` doesn’t accept \`${other}\`.` })
}

function open(
  links: Links,
  { id, shell, argv, cwd, env, cols, rows, user, name }: TerminalInput,
  signal: AbortSignal,
): Promise<Terminal> {
  if (shell !== undefined && argv !== undefined)
    refuse('invalid_parameter', { param: 'shell', message: 'Send either `shell` or `argv`.' })
  const input = {
    // Chosen here, so a retry opens one terminal.
    terminal_id: newId(),
    argv: argv ?? (shell === undefined ? null : [shell]),
    cwd: cwd ?? null,
    env: env ?? {},
    user: user ?? null,
    cols: cols ?? 80,
    rows: rows ?? 24,
    name: name ?? null,
  }
  return links.ask(id, 'terminal.open', input, { signal })
}

/** Newest first: terminals that ended long ago are rarely needed. */
async function list(
  links: Links,
  { id, cursor, ...query }: TerminalInput,
  signal: AbortSignal,
): Promise<Page<Terminal>> {
  // Calls without a query string may omit it despite the type.
  const limit = (query.limit as number | undefined) ?? 25
  const before = positionOf('terminals', id, cursor)?.map(String)
  const parts = await listAll(links, id, 'terminal.list', signal)
  const terminals = parts
    .flatMap((part) => part.terminals)
    .toSorted((a, b) => later(placeOf(b), placeOf(a)))
    .filter((one) => before === undefined || later(placeOf(one), before) < 0)
  return pageOf(
    terminals,
    limit,
    (last) => cursorOf('terminals', id, placeOf(last)),
    (row) => row,
  )
}

const placeOf = ({ created_at, terminal_id }: Terminal): string[] => [created_at, terminal_id]
/** Positive if the first is later. */
const later = ([a = '', x = '']: readonly string[], [b = '', y = '']: readonly string[]): number =>
  a === b ? (x < y ? -1 : Number(x > y)) : a < b ? -1 : 1

async function readTerminal(
  links: Links,
  { id, terminal_id, from, max_bytes, wait_ms, screen }: TerminalInput,
  signal: AbortSignal,
) {
  const input = {
    terminal_id: terminal_id!,
    from: from ?? null,
    max_bytes: max_bytes ?? 65_536,
    wait_ms: wait_ms ?? 0,
    screen: screen ?? false,
  }
  const { output, body, snapshot } = await readOver(links, id, input, signal)
  const bytes = body.bytes()
  // An incomplete character waits for the next read, unless the terminal has ended.
  const incomplete =
    output.terminal.status === 'open' && bytes.length > incompleteBytes(bytes) ? incompleteBytes(bytes) : 0
  return {
    ...output.terminal,
    offset: output.offset - incomplete,
    data: bytes.subarray(0, bytes.length - incomplete).toString('utf8'),
    from: output.from,
    gap: output.gap,
    dropped_bytes: output.dropped_bytes,
    snapshot: output.at === null ? null : snapshot.bytes().toString('utf8'),
    at: output.at,
  }
}

interface Reading {
  output: Output<'terminal.read'>
  body: ByteCollector
  snapshot: ByteCollector
}

/** Reading has no side effects. */
async function readOver(links: Links, id: Id, input: Asked<'terminal.read'>, caller: AbortSignal): Promise<Reading> {
  using limit = links.limit(id, caller, input.wait_ms + links.limits.answerMs)
  const { signal } = limit
  const losses = lossesOf(links, id, { signal })
  for (;;) {
    try {
      return await gather(await links.open(id, 'terminal.read', input, { signal }), input.max_bytes)
    } catch (error) {
      await losses.outlast(error)
    }
  }
}

async function gather(stream: AskedStream<'terminal.read'>, maxBytes: number): Promise<Reading> {
  const body = new ByteCollector()
  const snapshot = new ByteCollector()
  for await (const item of stream) {
    if (item.type !== 'bytes') continue
    const isSnapshot = item.channel === CHANNEL.snapshot
    const to = isSnapshot ? snapshot : body
    to.add(item.bytes)
    if (to.size <= (isSnapshot ? MAX_SNAPSHOT_BYTES : maxBytes)) continue
    stream.reset('more came than was asked for')
    refuse('upstream_error', { message: 'The computer sent more terminal output than requested.' })
  }
  return { output: await stream.output, body, snapshot }
}

/** Identifies the sender of numbered input: one per key and session. */
export const viewerOf = ({ accountId, credential }: Principal): string =>
  credential.kind === 'server' ? `${accountId}:${credential.run?.id ?? 'server'}` : `${accountId}:${credential.id}`
