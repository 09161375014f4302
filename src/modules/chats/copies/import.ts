import { attach } from '#modules/drive/service.ts'
import type { Context } from '#infra/context.ts'
import { type Db, sqlState } from '#infra/postgres/client.ts'
import { insertResource } from '#authz/resources.ts'
import { refuse } from '#core/errors.ts'
import { type Id, idAt, newId } from '#core/ids.ts'
import { type MessageRow, messageStore } from '../messages/message-store.ts'
import type { Part } from '../messages/parts.ts'
import { chatStore } from '../store.ts'
import { type Origin, importStore } from './import-store.ts'

/** Maximum files per import: each is looked up in one transaction. */
const MOST_FILES = 1_000

interface GivenMessage {
  id: string
  parent_id: string | null
  role: 'system' | 'user' | 'assistant'
  text: string
  created_at?: string | undefined
  model: string | null
  files: readonly Id[]
}

export interface GivenChat {
  source: string
  external_id: string
  title: string
  created_at?: string | undefined
  messages: readonly GivenMessage[]
  head_id?: string | undefined
  dry_run: boolean
}

/** Imports a chat once per source and external ID. `dry_run` only reports whether it exists. */
export async function importChat(outer: Context, workspaceId: Id, given: GivenChat) {
  const named = given.messages.reduce((sum, { files }) => sum + files.length, 0)
  if (named > MOST_FILES)
    refuse('invalid_parameter', {
      param: 'messages',
      message: `The messages reference ${named} files. A chat can reference up to ${MOST_FILES}.`,
    })
  const now = outer.now()
  const began = given.created_at ?? given.messages.find(({ created_at }) => created_at !== undefined)?.created_at
  const begun = past(began, now, now)
  const origin = { workspace_id: workspaceId, source: given.source, external_id: given.external_id }
  const id = idAt(begun.getTime(), newId())
  const rows = treeOf(outer, id, begun, given)
  const head =
    given.head_id === undefined ? rows.at(-1)! : rows[given.messages.findIndex((one) => one.id === given.head_id)]
  if (head === undefined) refuse('invalid_parameter', { param: 'head_id', message: 'No message has this ID.' })
  const before = await thereAlready(outer, origin, begun)
  if (before) return { ...before, created: false }
  if (given.dry_run) return { id: null, created: true, status: 'active' as const, message_count: rows.length }
  try {
    return await outer.transaction(async (ctx) => {
      const register = await insertResource(ctx, { id, kind: 'chat', workspace_id: workspaceId })
      await ctx.db.updateTable('resources').set({ created_at: begun }).where('id', '=', id).execute()
      await chatStore.insert(ctx.db, { id, title: given.title, title_source: 'user', agent_id: null, model: null })
      await importStore.keep(ctx.db, origin, id)
      await addFiles(ctx, workspaceId, rows, given)
      await messageStore.insertMany(ctx.db, rows)
      const at = rows.reduce((latest, row) => (row.created_at > latest ? row.created_at : latest), begun)
      await chatStore.grow(ctx.db, id, { head: head.id, lastSeq: rows.length, at, title: null })
      await ctx.emit({
        type: 'chat.created',
        channels: [`chat:${id}`, `workspace:${workspaceId}`],
        resource: { type: 'chat', id },
        data: { id, workspace_id: workspaceId, status: register.status },
      })
      return { id, created: true, status: register.status, message_count: rows.length }
    })
  } catch (error) {
    // A concurrent import was first.
    const there = sqlState(error) === '23505' ? await thereAlready(outer, origin, begun) : null
    if (there === null) throw error
    return { ...there, created: false }
  }
}

async function thereAlready({ db }: Context, origin: Origin, begun: Date) {
  const id = await importStore.find(db, origin)
  if (id !== null) return shown(db, id)
  // Older imports have no stored origin: their ID is derived from origin and time.
  for (const ms of [begun.getTime(), 0]) {
    const former = idAt(ms, 'import', origin.workspace_id, origin.source, origin.external_id)
    const there = await shown(db, former)
    if (there !== null) return there
  }
  return null
}

async function shown(db: Db, id: Id) {
  const row = await chatStore.get(db, id)
  return row && { id, status: row.status, message_count: row.last_seq }
}

/** Appends the files that messages reference. Attaches each file once. */
async function addFiles(ctx: Context, workspaceId: Id, rows: MessageRow[], { messages }: GivenChat): Promise<void> {
  const attached = new Map<Id, Awaited<ReturnType<typeof attach>>>()
  for (const [i, { files }] of messages.entries()) {
    const parts: Part[] = []
    for (const [j, file] of files.entries()) {
      const held = attached.get(file) ?? (await attach(ctx, file, workspaceId, `messages.${i}.files.${j}`))
      attached.set(file, held)
      const source = { kind: 'file' as const, ...held }
      const picture = source.media_type.startsWith('image/')
      parts.push(picture ? { type: 'image', source } : { type: 'file', source, name: source.name })
    }
    const row = rows[i]!
    if (parts.length > 0) row.content = [...(row.text.trim() === '' ? [] : row.content), ...parts]
  }
}

/** Limits a foreign clock's time: never in the future, and 1970 means that the time is unknown. */
function past(given: string | undefined, fallback: Date, now: Date): Date {
  if (given === undefined) return fallback
  const at = new Date(given)
  if (at.getTime() <= 0) return fallback
  return at > now ? now : at
}

function treeOf(ctx: Context, chatId: Id, begun: Date, { messages }: GivenChat): MessageRow[] {
  const now = ctx.now()
  const placed = new Map<string, { row: MessageRow; continued: boolean }>()
  messages.forEach((given, i) => {
    const param = `messages.${i}`
    if (placed.has(given.id))
      refuse('invalid_parameter', { param: `${param}.id`, message: 'An earlier message already has this ID.' })
    const parent =
      given.parent_id === null
        ? null
        : (placed.get(given.parent_id) ??
          refuse('invalid_parameter', {
            param: `${param}.parent_id`,
            message: 'No earlier message has this ID. A message must come after its parent.',
          }))
    const at = past(given.created_at, begun, now)
    const id = idAt(at.getTime(), chatId, given.id)
    const row: MessageRow = {
      id,
      chat_id: chatId,
      parent_id: parent?.row.id ?? null,
      line_id: parent === null || parent.continued ? id : parent.row.line_id,
      depth: parent === null ? 0 : parent.row.depth + 1,
      seq: i + 1,
      run_id: null,
      role: given.role,
      status: 'completed',
      content: [{ type: 'text', text: given.text }],
      text: given.text,
      model: given.model,
      provider: null,
      finish_reason: null,
      usage: null,
      cost_nano: null,
      created_by: given.role === 'user' ? ctx.principal.accountId : null,
      created_at: at,
      updated_at: at,
    }
    if (parent !== null) parent.continued = true
    placed.set(given.id, { row, continued: false })
  })
  return [...placed.values()].map(({ row }) => row)
}
