import { contracts } from '#modules/contracts.ts'
import { ApiError } from '../../../client.ts'
import { Stop, codeOf } from '../../exit.ts'
import type { Globals } from '../../globals.ts'
import { parseArguments } from '../../input/arguments.ts'
import { type Field, textField } from '../../input/fields.ts'
import { readText } from '../../input/input.ts'
import { ask } from '../../input/prompt.ts'
import { type Caller, callerOf } from '../../server/caller.ts'
import { personal } from '../../server/personal.ts'
import { workspaceOf } from '../../server/workspace.ts'
import { counted } from '../../output/amounts.ts'
import { clean, fit, type Terminal } from '../../terminal.ts'
import type { Archive } from './archive.ts'
import { type Conversation, Exported } from './formats/conversation.ts'
import { type ExportFiles, bringFiles, folderFor, withData } from './files.ts'
import { type Source, called, isNoExport, otherSource } from './formats/source.ts'

const sources = {
  chatgpt: {
    wanted: /(^|\/)conversations(-\d+)?\.json$/,
    read: async () => (await import('./formats/chatgpt.ts')).readChatGpt,
  },
  claude: { wanted: /(^|\/)conversations\.json$/, read: async () => (await import('./formats/claude.ts')).readClaude },
  'open-webui': { wanted: /\.json$/, read: async () => (await import('./formats/open-webui.ts')).readOpenWebUi },
} as const satisfies Record<Source, object>

export const switchField = (name: string): Field => ({ ...textField(name), kind: 'switch' })
export const fileField = (name: string): Field => ({ ...textField(name), inPath: true, required: true, verbatim: true })

export async function importChats(source: Source, words: readonly string[], terminal: Terminal): Promise<number> {
  const fields = [
    fileField('file'),
    switchField('dry_run'),
    switchField('yes'),
    { ...textField('user'), verbatim: true as const },
    { ...textField('uploads'), verbatim: true as const },
  ]
  const { input, globals } = await parseArguments(words, fields, readText)
  const path = String(input.file)
  const { wanted: pattern, read } = sources[source]
  await using archive = await archiveOf(source, path, pattern, input)
  const files = withData(archive.files)
  const exported = new Exported((ref) => files.find(ref))
  ;(await read())(archive.chats, exported)
  const { conversations, left: skipped } = exported
  const other = conversations.length === 0 ? otherSource(exported) : null
  if (other !== null)
    throw new Stop(
      'usage',
      `${path} is an export from ${called[other]}, not ${called[source]}. Nothing was imported.`,
      `Run: uk import ${other} ${path}`,
    )
  const options = { dryRun: input.dry_run === true, yes: input.yes === true }
  if (!globals.json) sayWhat(exported, terminal)
  if (conversations.length === 0 || options.dryRun) {
    const totals = { found: conversations.length, imported: 0, already: 0, dry_run: options.dryRun, left: skipped }
    const code = await report(terminal, globals, totals)
    if (!isNoExport(exported)) return code
    terminal.err(`${path} contains no ${called[source]} chats.`)
    return codeOf('usage')
  }
  const caller = await callerOf(globals, terminal)
  const workspace = await workspaceOf(globals, caller, terminal)
  const place = workspace === undefined ? 'your personal workspace' : workspace.name
  if (!(await agreed(`Import into ${place}?`, options, globals, terminal))) return codeOf('ok')
  const workspaceId = workspace?.id ?? (await personal(caller.call))
  const { imported, already } = await sendAll({ source, conversations, files, workspaceId }, caller, terminal)
  return report(terminal, globals, { found: conversations.length, imported, already, dry_run: false, left: skipped })
}

async function archiveOf(
  source: Source,
  path: string,
  wanted: RegExp,
  { user, uploads }: { user?: string; uploads?: string },
): Promise<Archive> {
  const { openArchive } = await import('./archive.ts')
  if (source !== 'open-webui') return openArchive(path, wanted)
  const { chatsOfDatabase, isDatabase, uploadsBeside } = await import('./webui-db.ts')
  const files = uploadsBeside(path, uploads)
  if (await isDatabase(path))
    return { chats: chatsOfDatabase(path, user), files, [Symbol.asyncDispose]: async () => {} }
  return Object.assign(await openArchive(path, wanted), { files })
}

/** Asks for confirmation in a terminal; elsewhere requires `--yes`. */
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
      'Nothing was imported: there is no terminal to confirm in.',
      'Add --yes to import, or --dry-run to preview.',
    )
  const answer = await ask(clean(`${question} [y/N]`), '--yes', globals, terminal)
  if (/^y(es)?$/i.test(answer)) return true
  terminal.err('Nothing was imported.')
  return false
}

const SHOWN = 5

function sayWhat({ conversations, left }: Exported, terminal: Terminal): void {
  const messages = conversations.flatMap((chat) => chat.messages)
  const files = new Set(messages.flatMap((message) => message.files.map(({ name }) => name))).size
  terminal.err(
    `${counted(conversations.length, 'chat')} with ${counted(messages.length, 'message')}${files > 0 ? ` and ${counted(files, 'file')}` : ''}:`,
  )
  for (const { title, messages: of } of conversations.slice(0, SHOWN))
    terminal.err(`  ${fit(clean(title), Math.max(20, terminal.columns - 20))}  (${of.length})`)
  if (conversations.length > SHOWN) terminal.err(`  and ${conversations.length - SHOWN} more`)
  sayLeft(left, terminal)
}

export function sayLeft(skipped: ReadonlyMap<string, number>, terminal: Terminal): void {
  if (skipped.size === 0) return
  terminal.err('Skipped:')
  for (const [what, count] of skipped) terminal.err(`  ${count} ${what}`)
}

interface Sending {
  source: Source
  conversations: readonly Conversation[]
  files: ExportFiles
  workspaceId: string
}

async function sendAll(
  { source, conversations, files, workspaceId }: Sending,
  caller: Caller,
  terminal: Terminal,
): Promise<{ imported: number; already: number }> {
  const { import: endpoint } = (await contracts.chats()).endpoints
  let imported = 0
  let already = 0
  let folder: string | null = null
  const removeHandler = terminal.onInterrupt(() =>
    terminal.err(`Imported ${imported} so far. Run the same command again to continue.`),
  )
  const send = async (conversation: Conversation, ids: ReadonlyMap<string, string>, dry_run: boolean) => {
    const messages = conversation.messages.map(({ files: chatFiles, ...message }) => ({
      ...message,
      files: dry_run ? [] : chatFiles.map(({ ref }) => ids.get(ref)!),
    }))
    const input = { source, ...conversation, messages, workspace_id: workspaceId, dry_run }
    const answer = await withPatience(() => caller.call(endpoint, input))
    return (JSON.parse(await answer.text()) as { data: { created: boolean } }).data.created
  }
  for (const conversation of conversations) {
    const chatFiles = conversation.messages.flatMap((message) => message.files)
    let ids: ReadonlyMap<string, string> = new Map()
    if (chatFiles.length > 0 && (await send(conversation, ids, true))) {
      folder ??= await folderFor(called[source], workspaceId, caller)
      ids = await bringFiles(chatFiles, files, folder, caller, terminal)
    } else if (chatFiles.length > 0) {
      already += 1
      continue
    }
    if (await send(conversation, ids, false)) imported += 1
    else already += 1
  }
  removeHandler()
  return { imported, already }
}

const MAX_TRIES = 10

async function withPatience<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429 || tries === MAX_TRIES) throw error
      const seconds = error.retryAfterSeconds ?? 1
      await new Promise((resolve) => setTimeout(resolve, Math.min(60, seconds) * 1000))
    }
}

interface ImportTotals {
  found: number
  imported: number
  already: number
  dry_run: boolean
  left: ReadonlyMap<string, number>
}

async function report(
  terminal: Terminal,
  globals: Globals,
  { left: skipped, ...totals }: ImportTotals,
): Promise<number> {
  if (globals.json) await terminal.out(`${JSON.stringify({ ...totals, left_out: Object.fromEntries(skipped) })}\n`)
  else if (totals.dry_run) terminal.err('Dry run. Nothing was imported.')
  else
    terminal.err(
      `Imported ${counted(totals.imported, 'chat')}${totals.already > 0 ? `. ${totals.already} had already been imported` : ''}.`,
    )
  return codeOf('ok')
}
