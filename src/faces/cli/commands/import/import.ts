import { contracts } from '#areas/contracts.ts'
import { ApiError } from '../../../client.ts'
import { Stop, codeOf } from '../../exit.ts'
import type { Globals } from '../../globals.ts'
import { parseArguments } from '../../input/arguments.ts'
import { type Field, textField } from '../../input/fields.ts'
import { readText } from '../../input/input.ts'
import { ask } from '../../input/prompt.ts'
import { type Caller, callerOf } from '../../server/caller.ts'
import { workspaceOf } from '../../server/workspace.ts'
import { clean, fit, type Terminal } from '../../terminal.ts'
import { type Conversation, Exported } from './conversation.ts'

const sources = {
  chatgpt: {
    wanted: /(^|\/)conversations(-\d+)?\.json$/,
    read: async () => (await import('./chatgpt.ts')).readChatGpt,
  },
  claude: { wanted: /(^|\/)conversations\.json$/, read: async () => (await import('./claude.ts')).readClaude },
  'open-webui': { wanted: /\.json$/, read: async () => (await import('./open-webui.ts')).readOpenWebUi },
} as const
export type Source = keyof typeof sources

export const switchField = (name: string): Field => ({ ...textField(name), kind: 'switch' })
export const fileField = (name: string): Field => ({ ...textField(name), inPath: true, required: true, verbatim: true })

/** `uk import chatgpt|claude|open-webui <file>`. */
export async function importChats(source: Source, words: readonly string[], terminal: Terminal): Promise<number> {
  const fields = [
    fileField('file'),
    switchField('dry_run'),
    switchField('yes'),
    { ...textField('user'), verbatim: true as const },
  ]
  const { input, globals } = await parseArguments(words, fields, readText)
  const path = String(input.file)
  const exported = new Exported()
  const { wanted, read } = sources[source]
  ;(await read())(await rowsOf(source, path, wanted, input.user as string | undefined), exported)
  const { conversations, left } = exported
  const asked = { dryRun: input.dry_run === true, yes: input.yes === true }
  if (!globals.json) sayWhat(exported, terminal)
  if (conversations.length === 0 || asked.dryRun)
    return report(terminal, globals, {
      found: conversations.length,
      imported: 0,
      already: 0,
      dry_run: asked.dryRun,
      left,
    })
  const caller = await callerOf(globals, terminal)
  const workspace = await workspaceOf(globals, caller, terminal)
  const place = workspace === undefined ? 'your personal workspace' : workspace.name
  if (!(await agreed(`Import them into ${place}?`, asked, globals, terminal))) return codeOf('ok')
  const { imported, already } = await sendAll(source, conversations, workspace?.id, caller, terminal)
  return report(terminal, globals, { found: conversations.length, imported, already, dry_run: false, left })
}

async function rowsOf(source: Source, path: string, wanted: RegExp, user: string | undefined): Promise<unknown[]> {
  if (source === 'open-webui') {
    const { chatsOfDatabase, isDatabase } = await import('./webui-db.ts')
    if (await isDatabase(path)) return chatsOfDatabase(path, user)
  }
  return (await import('./archive.ts')).chatsIn(path, wanted)
}

/** In a terminal it is asked first; where nobody can be asked, `--yes` says so beforehand. */
export async function agreed(
  question: string,
  { yes }: { yes: boolean },
  globals: Globals,
  terminal: Terminal,
): Promise<boolean> {
  if (yes) return true
  if (!terminal.canAsk || globals['no-input'])
    throw new Stop(
      'usage',
      'Nothing was imported: nobody can be asked here.',
      'Give --yes to import, or --dry-run to see what would be.',
    )
  const answer = await ask(clean(`${question} [y/N]`), '--yes', globals, terminal)
  if (/^y(es)?$/i.test(answer)) return true
  terminal.err('Nothing was imported.')
  return false
}

const SHOWN = 5

function sayWhat({ conversations, left }: Exported, terminal: Terminal): void {
  const messages = conversations.reduce((sum, chat) => sum + chat.messages.length, 0)
  terminal.err(`${conversations.length} chats with ${messages} messages:`)
  for (const { title, messages: of } of conversations.slice(0, SHOWN))
    terminal.err(`  ${fit(clean(title), Math.max(20, terminal.columns - 20))}  (${of.length})`)
  if (conversations.length > SHOWN) terminal.err(`  and ${conversations.length - SHOWN} more`)
  sayLeft(left, terminal)
}

export function sayLeft(left: ReadonlyMap<string, number>, terminal: Terminal): void {
  if (left.size === 0) return
  terminal.err('Left out:')
  for (const [what, count] of left) terminal.err(`  ${count} ${what}`)
}

async function sendAll(
  source: Source,
  conversations: readonly Conversation[],
  workspaceId: string | undefined,
  { call }: Caller,
  terminal: Terminal,
): Promise<{ imported: number; already: number }> {
  const { import: endpoint } = (await contracts.chats()).endpoints
  let imported = 0
  let already = 0
  const said = terminal.onInterrupt(() =>
    terminal.err(`${imported} were imported. The same command goes on where it was.`),
  )
  for (const conversation of conversations) {
    const input = { source, ...conversation, ...(workspaceId !== undefined && { workspace_id: workspaceId }) }
    const answer = await withPatience(() => call(endpoint, input))
    const { data } = JSON.parse(await answer.text()) as { data: { created: boolean } }
    if (data.created) imported += 1
    else already += 1
  }
  said()
  return { imported, already }
}

const MOST_TRIES = 10

/** A server that has enough for the moment says when to come again. */
async function withPatience<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429 || tries === MOST_TRIES) throw error
      const seconds = error.retryAfterSeconds ?? 1
      await new Promise((resolve) => setTimeout(resolve, Math.min(60, seconds) * 1000))
    }
}

interface Told {
  found: number
  imported: number
  already: number
  dry_run: boolean
  left: ReadonlyMap<string, number>
}

async function report(terminal: Terminal, globals: Globals, { left, ...told }: Told): Promise<number> {
  if (globals.json) await terminal.out(`${JSON.stringify({ ...told, left_out: Object.fromEntries(left) })}\n`)
  else if (told.dry_run) terminal.err('Nothing was imported: this was a dry run.')
  else
    terminal.err(
      `${told.imported} chats were imported${told.already > 0 ? `, ${told.already} were there already` : ''}.`,
    )
  return codeOf('ok')
}
