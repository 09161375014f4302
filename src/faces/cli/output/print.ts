import type { Listed } from '#kernel/registry.ts'
import { type Incoming, isPage, pageIn } from '../../client.ts'
import { type Received, readEvents } from '../../sse.ts'
import { columnsOf } from './columns.ts'
import type { Globals } from '../globals.ts'
import { Stop, codeOf } from '../exit.ts'
import type { Followed } from './follow.ts'
import { madeIn } from '../media/made.ts'
import { fileSink } from '../sink.ts'
import { card, table } from './table.ts'
import { type Terminal, clean, shown } from '../terminal.ts'

type Row = Record<string, unknown>

interface Printing {
  listed: Listed
  response: Incoming
  /** The page that starts at this cursor. */
  next(cursor: string): Promise<Incoming>
  /** An address that needs no credentials, such as a signed link. */
  open(url: string): Promise<Incoming>
  globals: Globals
  terminal: Terminal
  /** The run that is followed; the stream tells its id. */
  run?: Followed | null
}

/** Prints an answer: one branch per kind of reply. With --json exactly what the API gave. Answers the exit code. */
export async function print(printing: Printing): Promise<number> {
  const { listed, response, globals, terminal } = printing
  const { kind } = listed.endpoint.reply
  if (kind === 'stream') return printStream(printing)
  if (kind === 'bytes') return printBytes(printing)
  if (kind === 'none' || response.status === 204) return codeOf('ok')
  if (kind === 'page' && globals.all) return printAll(printing)
  const text = await response.text()
  const json = JSON.parse(text) as Row
  const made = kind === 'operation' ? madeIn(json.data) : null
  if (made) await (await import('../media/keep.ts')).keep(made, globals, terminal, printing.open)
  if (globals.json) await terminal.out(`${text}\n`)
  else if (made) return codeOf('ok')
  else if (kind === 'page' && isPage(json)) await printPage(json, listed, terminal)
  else if (kind === 'results') await terminal.out(rowsOrNothing(json.items as Row[], listed, terminal))
  else if (kind === 'deleted') await terminal.out(`${terminal.interactive ? 'done: ' : ''}${clean(String(json.id))}\n`)
  else
    await terminal.out(
      oneThing(told(json.data as Row, listed, terminal), kind === 'operation' && response.status === 202, terminal),
    )
  const { status, ok, run, lifecycle } = (json.data ?? {}) as {
    status?: unknown
    ok?: unknown
    run?: { status?: unknown }
    lifecycle?: unknown
  }
  const cancelled = run?.status === 'cancelled'
  if (cancelled && !globals.json) terminal.err(`${terminal.style('red', 'uk:')} The run was cancelled.`)
  // A check that was made and found something wrong, such as `uk ai-gateway test`.
  if (ok === false || cancelled) return codeOf('failure')
  return globals.wait && (['failed', 'cancelled', 'expired'].includes(String(status)) || lifecycle === 'error')
    ? codeOf('failure')
    : codeOf('ok')
}

/** A result that was only worked out and is kept nowhere: its id and its time lead a person to nothing. */
function told(data: Row, { endpoint: { method, reply, status } }: Listed, { interactive }: Terminal): Row {
  const kept = method !== 'POST' || reply.kind !== 'one' || status === 201 || 'updated_at' in data
  if (kept || !interactive) return data
  const { id: _, created_at: __, ...rest } = data
  return rest
}

interface ToolCall {
  name?: unknown
  /** JSON text, as the model wrote it. */
  arguments?: unknown
}
const toolLine = (call: ToolCall): string => `→ ${String(call.name)} ${String(call.arguments)}`

function oneThing(data: Row, background: boolean, terminal: Terminal): string {
  // The words of a model or a file are wanted as text; their cost is said beside it.
  if (typeof data.text === 'string' && 'finish_reason' in data) {
    if (typeof data.model === 'string')
      terminal.err(
        terminal.style(
          'dim',
          `${clean(data.model)} · ${data.cost_usd === null ? 'cost unknown' : `$${String(data.cost_usd)}`}`,
        ),
      )
    const calls = ((data.tool_calls ?? []) as ToolCall[]).map((call) => `${toolLine(call)}\n`).join('')
    return `${data.text === '' && calls !== '' ? '' : `${shown(data.text, terminal)}\n`}${shown(calls, terminal)}`
  }
  if (Array.isArray(data.lines))
    return (data.lines as { text?: string }[]).map(({ text }) => `${shown(text ?? '', terminal)}\n`).join('')
  if (background && typeof data.id === 'string')
    terminal.err(`Goes on in the background. Follow it: uk operations get ${data.id}, or add --wait.`)
  return card(data, terminal)
}

function rowsOrNothing(rows: readonly Row[], listed: Listed, terminal: Terminal): string {
  if (rows.length > 0 || !terminal.interactive) return table(rows, terminal, columnsOf(listed))
  terminal.err('Nothing.')
  return ''
}

async function printPage(json: unknown, listed: Listed, terminal: Terminal): Promise<void> {
  const { rows, next } = pageIn(json)
  await terminal.out(rowsOrNothing(rows as Row[], listed, terminal))
  if (next !== null) terminal.err(`There are more: add --all, or --cursor ${next}`)
}

const pageOf = async (response: Incoming) => pageIn(JSON.parse(await response.text()))

async function printAll({ listed, response, next, globals, terminal }: Printing): Promise<number> {
  const rows: Row[] = []
  const text = await response.text()
  const first: unknown = JSON.parse(text)
  if (!isPage(first)) {
    await terminal.out(globals.json ? `${text}\n` : card((first as { data: Row }).data, terminal))
    return codeOf('ok')
  }
  for (let page = pageIn(first); ; page = await pageOf(await next(page.next))) {
    if (globals.json) for (const row of page.rows) await terminal.out(`${JSON.stringify(row)}\n`)
    else rows.push(...(page.rows as Row[]))
    if (page.next === null) break
  }
  if (!globals.json) await terminal.out(rowsOrNothing(rows, listed, terminal))
  return codeOf('ok')
}

/** Model text as it comes; what else belongs to a run is kept quiet; any other event is a line. */
async function printStream({ response, globals, terminal, run }: Printing): Promise<number> {
  const { output } = globals
  await using sink = output === undefined || output === '-' ? null : await fileSink(output)
  let failed: string | null = null
  let midLine = false
  for await (const received of readEvents(response.bytes())) {
    const { event } = received
    const data = (received.data ?? {}) as Row
    if (run && typeof data.run_id === 'string') run.id = data.run_id
    if (event === 'run.requires_action' && !globals.json) {
      if (midLine) await terminal.out('\n')
      midLine = false
      terminal.err(waits(data.run as Waiting))
    }
    if (event === 'run.cancelled') failed = 'The run was cancelled.'
    if (event.endsWith('.failed')) failed = clean(String((data.error as Row | undefined)?.message ?? 'The run failed.'))
    if (globals.json) await terminal.out(`${JSON.stringify(received)}\n`)
    else if (event === 'text.delta') {
      const text = shown(String(data.delta), terminal)
      midLine = !text.endsWith('\n')
      await terminal.out(text)
    } else if (typeof data.audio === 'string') {
      const bytes = Buffer.from(data.audio, 'base64')
      await (output === '-' ? terminal.out(bytes) : sink?.write(bytes))
    } else if (event === 'tool_call.completed') {
      if (midLine) await terminal.out('\n')
      midLine = false
      terminal.err(terminal.style('dim', clean(toolLine(data))))
    } else if (!isOfARun(received)) await terminal.out(`${event}\t${clean(JSON.stringify(data))}\n`)
  }
  if (midLine) await terminal.out('\n')
  if (sink && sink.written() > 0) terminal.err(`${sink.written()} bytes in ${output}`)
  if (failed !== null && !globals.json) terminal.err(`${terminal.style('red', 'uk:')} ${failed}`)
  return codeOf(failed === null ? 'ok' : 'failure')
}

interface Waiting {
  id: string
  chat_id: string
  pending_actions: { id: string; tool: string; arguments: unknown }[]
}

/** The actions that a run waits with, and the words that let it go on. */
function waits({ id, chat_id, pending_actions }: Waiting): string {
  const calls = pending_actions.map(({ tool, arguments: given }) => `${tool} ${JSON.stringify(given)}`)
  // Ids come from vendors, and this line is for a shell.
  const actions = JSON.stringify(pending_actions.map((action) => ({ id: action.id, decision: 'allow' }))).replaceAll(
    "'",
    `'\\''`,
  )
  return clean(
    `Waits for your decision on ${calls.join(', ')}. In another terminal, with allow or deny:\nuk chats actions ${chat_id} ${id} --actions '${actions}'`,
  )
}

const isOfARun = ({ event }: Received): boolean =>
  /^(run|message|reasoning|tool_call|tool_result|usage|audio)(\.|$)/.test(event)

async function printBytes({ response, globals, terminal }: Printing): Promise<number> {
  const type = response.header('content-type') ?? ''
  if (globals.output === undefined || globals.output === '-') {
    const readable = /^(text\/|application\/(json|xml|x-ndjson))/.test(type)
    if (terminal.interactive && !readable && globals.output !== '-') {
      throw new Stop(
        'usage',
        `These bytes (${type || 'of unknown type'}) are not for a terminal.`,
        'Add --output <file>, or pipe them.',
      )
    }
    const decoder = new TextDecoder()
    for await (const part of response.bytes())
      await terminal.out(
        terminal.interactive && globals.output !== '-' ? clean(decoder.decode(part, { stream: true })) : part,
      )
    return codeOf('ok')
  }
  await using sink = await fileSink(globals.output)
  for await (const part of response.bytes()) await sink.write(part)
  terminal.err(`${sink.written()} bytes in ${globals.output}`)
  return codeOf('ok')
}
