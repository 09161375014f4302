import type { ListedEndpoint } from '#core/registry.ts'
import { type Incoming, type SendCall, isPage, pageIn } from '../../client.ts'
import { columnsOf } from './columns.ts'
import type { Globals } from '../globals.ts'
import { Stop, codeOf } from '../exit.ts'
import type { Decide, Waiting } from './decide.ts'
import type { Followed } from './follow.ts'
import { madeIn } from '../media/made.ts'
import { createdLines } from './created.ts'
import { fileSink } from '../sink.ts'
import { selected } from './select.ts'
import { printStream, toolLine } from './stream.ts'
import { card, isThing, table } from './table.ts'
import { aboutSecret } from './views/secrets.ts'
import { viewOf } from './views/views.ts'
import { type Terminal, clean, shown } from '../terminal.ts'

type Row = Record<string, unknown>

interface Printing {
  listed: ListedEndpoint
  input?: Readonly<Record<string, unknown>>
  /** The server's address, for commands to paste. */
  origin?: string
  call?: SendCall
  response: Incoming
  next(cursor: string): Promise<Incoming>
  /** Fetches a URL that needs no credentials, such as a signed link. */
  open(url: string): Promise<Incoming>
  globals: Globals
  terminal: Terminal
  /** The followed run. The stream sets its ID. */
  run?: Followed | null
  decide?: Decide
  follow?(run: Waiting): Promise<Incoming>
}

/** Prints a response by its reply kind; with --json, as the API sent it. Returns the exit code. */
export async function print(printing: Printing): Promise<number> {
  const { listed, response, globals, terminal } = printing
  const { kind } = listed.endpoint.reply
  if (kind === 'stream' || kind === 'bytes') refuseChoice(globals)
  if (kind === 'stream') return printStream(printing)
  if (kind === 'bytes') return printBytes(printing)
  if (kind === 'none' || response.status === 204) return codeOf('ok')
  const isPlain = terminal.interactive && !wantsJson(globals)
  if (isPlain && isFirstModelPage(printing)) {
    const { modelsByUse } = await import('./views/models.ts')
    await terminal.out(await modelsByUse({ ...printing, call: printing.call }))
    return codeOf('ok')
  }
  if (kind === 'page' && globals.all) return printAll(printing)
  const text = await response.text()
  const json = JSON.parse(text) as Row
  const media = kind === 'operation' ? madeIn(json.data) : null
  if (media) await (await import('../media/keep.ts')).keep(media, globals, terminal, printing.open)
  if (wantsJson(globals)) await terminal.out(await selected(text, globals, terminal))
  else if (media) return codeOf('ok')
  else await printData(printing, json)
  const secret = isPlain && json.data ? aboutSecret(listed, json.data as Row, printing.origin ?? '') : null
  if (secret !== null) terminal.err(`\n${secret}`)
  return finish(printing, json.data ?? {})
}

type FirstModelPage = Printing & { call: SendCall }

const isFirstModelPage = (printing: Printing): printing is FirstModelPage =>
  printing.listed.name === 'models.list' &&
  printing.call !== undefined &&
  printing.input?.cursor === undefined &&
  !printing.globals.all

/** Prints a response without `--json`: what was created, the command's own view, or the data by its reply kind. */
async function printData(printing: Printing, json: Row): Promise<void> {
  const { listed, response, terminal } = printing
  const { kind } = listed.endpoint.reply
  const view = viewOf(listed.name, { json, input: printing.input ?? {}, terminal })
  const created =
    (kind === 'one' || kind === 'operation') && isThing(json.data)
      ? createdLines(
          { name: listed.name, data: json.data, status: response.status, origin: printing.origin ?? '' },
          terminal,
        )
      : null
  if (created !== null) {
    if (response.status === 202) tellBackground(json.data as Row, terminal)
    await terminal.out(created)
  } else if (view !== null) await printView(view, json, terminal)
  else if (kind === 'page' && isPage(json)) await printPage(json, listed, terminal)
  else if (kind === 'results') await terminal.out(rowsOrNothing(json.items as Row[], listed, terminal))
  else if (kind === 'deleted') await terminal.out(`${terminal.interactive ? 'Done: ' : ''}${clean(String(json.id))}\n`)
  else if (!isSilent(json.data))
    await terminal.out(
      oneThing(
        withoutGeneratedFields(json.data as Row, listed, terminal),
        kind === 'operation' && response.status === 202,
        terminal,
      ),
    )
}

interface Progress {
  status?: unknown
  ok?: unknown
  run?: { status?: unknown }
  lifecycle?: unknown
}

/** Asks for the decision that a run waits for, and returns the exit code. */
async function finish(printing: Printing, { status, ok, run, lifecycle }: Progress): Promise<number> {
  const { globals, terminal } = printing
  if (run?.status === 'requires_action') {
    const waiting = run as unknown as Waiting
    if (!(await printing.decide?.(waiting)) || printing.follow === undefined) return codeOf('undecided')
    return printStream({ ...printing, response: await printing.follow(waiting) })
  }
  const cancelled = run?.status === 'cancelled'
  if (cancelled && !wantsJson(globals)) terminal.err(`${terminal.style('red', 'uk:')} The run was canceled.`)
  // A check that failed, such as `uk ai-gateway test`.
  if (ok === false || cancelled) return codeOf('failure')
  return globals.wait && (['failed', 'cancelled', 'expired'].includes(String(status)) || lifecycle === 'error')
    ? codeOf('failure')
    : codeOf('ok')
}

/** Hides the ID and the time of a computed result that isn't stored. */
function withoutGeneratedFields(
  data: Row,
  { endpoint: { method, reply, status } }: ListedEndpoint,
  { interactive }: Terminal,
): Row {
  const isStored = method !== 'POST' || reply.kind !== 'one' || status === 201 || 'updated_at' in data
  if (isStored || !interactive) return data
  const { id: _, created_at: __, ...rest } = data
  return rest
}

function oneThing(data: Row, background: boolean, terminal: Terminal): string {
  // Model output and file content print as plain text. The cost goes to stderr.
  if (typeof data.text === 'string' && 'finish_reason' in data) {
    if (typeof data.model === 'string')
      terminal.err(
        terminal.style(
          'dim',
          `${clean(data.model)} · ${data.cost_usd === null ? 'cost unknown' : `$${String(data.cost_usd)}`}`,
        ),
      )
    const calls = ((data.tool_calls ?? []) as Row[]).map((call) => `${toolLine(call)}\n`).join('')
    return `${data.text === '' && calls !== '' ? '' : `${shown(data.text, terminal)}\n`}${shown(calls, terminal)}`
  }
  if (Array.isArray(data.lines))
    return (data.lines as { text?: string }[]).map(({ text }) => `${shown(text ?? '', terminal)}\n`).join('')
  if (background) tellBackground(data, terminal)
  return card(data, terminal)
}

function tellBackground({ id }: Row, terminal: Terminal): void {
  if (typeof id === 'string')
    terminal.err(`Running in the background. Check it with \`uk operations get ${id}\`, or add --wait to wait for it.`)
}

const isSilent = (data: unknown): boolean => {
  const { text, run } = (data ?? {}) as { text?: unknown; run?: { status?: unknown } }
  return text === '' && run?.status === 'requires_action'
}

function rowsOrNothing(rows: readonly Row[], listed: ListedEndpoint, terminal: Terminal): string {
  if (rows.length > 0 || !terminal.interactive) return table(rows, terminal, columnsOf(listed))
  terminal.err('No results.')
  return ''
}

async function printView(view: string, json: unknown, terminal: Terminal): Promise<void> {
  await terminal.out(view)
  if (view === '' && terminal.interactive) terminal.err('No results.')
  if (isPage(json)) tellMore(pageIn(json).next, terminal)
}

const tellMore = (next: string | null, terminal: Terminal): void => {
  if (next !== null) terminal.err(`More results: add --all, or --cursor ${next}`)
}

async function printPage(json: unknown, listed: ListedEndpoint, terminal: Terminal): Promise<void> {
  const { rows, next } = pageIn(json)
  await terminal.out(rowsOrNothing(rows as Row[], listed, terminal))
  tellMore(next, terminal)
}

export function refuseChoice({ query, jq }: Globals): void {
  if (query !== undefined || jq !== undefined)
    throw new Stop(
      'usage',
      '-q and --jq need JSON, but this command returns a stream or a file.',
      'For a stream, use --json: it prints one event per line.',
    )
}

const pageOf = async (response: Incoming) => pageIn(JSON.parse(await response.text()))

const wantsJson = ({ json, query, jq }: Globals): boolean => json === true || query !== undefined || jq !== undefined

async function printAll({ listed, input = {}, response, next, globals, terminal }: Printing): Promise<number> {
  const rows: Row[] = []
  const text = await response.text()
  const first: unknown = JSON.parse(text)
  if (!isPage(first)) {
    const data = () => card((first as { data: Row }).data, terminal)
    await terminal.out(wantsJson(globals) ? await selected(text, globals, terminal) : data())
    return codeOf('ok')
  }
  const isFiltered = globals.query !== undefined || globals.jq !== undefined
  for (let page = pageIn(first); ; page = await pageOf(await next(page.next))) {
    if (isFiltered) await terminal.out(await selected(JSON.stringify({ data: page.rows }), globals, terminal))
    else if (globals.json) for (const row of page.rows) await terminal.out(`${JSON.stringify(row)}\n`)
    else rows.push(...(page.rows as Row[]))
    if (page.next === null) break
  }
  const view = viewOf(listed.name, { json: { data: rows }, input, terminal })
  if (!wantsJson(globals)) await terminal.out(view ?? rowsOrNothing(rows, listed, terminal))
  return codeOf('ok')
}

async function printBytes({ response, globals, terminal }: Printing): Promise<number> {
  const type = response.header('content-type') ?? ''
  if (globals.output === undefined || globals.output === '-') {
    const readable = /^(text\/|application\/(json|xml|x-ndjson))/.test(type)
    if (terminal.interactive && !readable && globals.output !== '-') {
      throw new Stop(
        'usage',
        `This is a binary file (${type || 'unknown type'}).`,
        'Save it with --output <file>, or pipe it to a command.',
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
  const { progressOn } = await import('./progress.ts')
  using progress = progressOn(process.stderr)
  const length = response.header('content-length')
  const file = progress.begins(globals.output, length === null ? null : Number(length), 0)
  for await (const part of response.bytes()) {
    await sink.write(part)
    file.at(sink.written())
  }
  progress[Symbol.dispose]()
  terminal.err(`Saved ${globals.output} (${sink.written()} bytes)`)
  return codeOf('ok')
}
