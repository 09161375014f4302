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

const MAX_FILES = 1_000

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
export async function importChat(outer: Context, workspaceId: Id, input: GivenChat) {
  const fileCount = input.messages.reduce((sum, { files }) => sum + files.length, 0)
  if (fileCount > MAX_FILES)
    refuse('invalid_parameter', {
      param: 'messages',
      message: `The messages reference ${fileCount} files. A chat can reference up to ${MAX_FILES}.`,
    })
  const now = outer.now()
  const startTime = input.created_at ?? input.messages.find(({ created_at }) => created_at !== undefined)?.created_at
  const startedAt = clampTime(startTime, now, now)
  const origin = { workspace_id: workspaceId, source: input.source, external_id: input.external_id }
  const id = idAt(startedAt.getTime(), newId())
  const rows = buildTree(outer, id, startedAt, input)
  const head =
    input.head_id === undefined ? rows.at(-1)! : rows[input.messages.findIndex((one) => one.id === input.head_id)]
  if (head === undefined) refuse('invalid_parameter', { param: 'head_id', message: 'No message has this ID.' })
  const existing = await findImported(outer, origin, startedAt)
  if (existing) return { ...existing, created: false }
  if (input.dry_run) return { id: null, created: true, status: 'active' as const, message_count: rows.length }
  try {
    return await outer.transaction(async (ctx) => {
      const register = await insertResource(ctx, { id, kind: 'chat', workspace_id: workspaceId })
      await ctx.db.updateTable('resources').set({ created_at: startedAt }).where('id', '=', id).execute()
      await chatStore.insert(ctx.db, { id, title: input.title, title_source: 'user', agent_id: null, model: null })
      await importStore.keep(ctx.db, origin, id)
      await addFiles(ctx, workspaceId, rows, input)
      await messageStore.insertMany(ctx.db, rows)
      const at = rows.reduce((latest, row) => (row.created_at > latest ? row.created_at : latest), startedAt)
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
    const existing = sqlState(error) === '23505' ? await findImported(outer, origin, startedAt) : null
    if (existing === null) throw error
    return { ...existing, created: false }
  }
}

async function findImported({ db }: Context, origin: Origin, startedAt: Date) {
  const id = await importStore.find(db, origin)
  if (id !== null) return showImported(db, id)
  // Older imports have no stored origin: their ID is derived from origin and time.
  for (const ms of [startedAt.getTime(), 0]) {
    const formerId = idAt(ms, 'import', origin.workspace_id, origin.source, origin.external_id)
    const importedChat = await showImported(db, formerId)
    if (importedChat !== null) return importedChat
  }
  return null
}

async function showImported(db: Db, id: Id) {
  const row = await chatStore.get(db, id)
  return row && { id, status: row.status, message_count: row.last_seq }
}

async function addFiles(ctx: Context, workspaceId: Id, rows: MessageRow[], { messages }: GivenChat): Promise<void> {
  const attached = new Map<Id, Awaited<ReturnType<typeof attach>>>()
  for (const [i, { files }] of messages.entries()) {
    const parts: Part[] = []
    for (const [j, file] of files.entries()) {
      const attachment = attached.get(file) ?? (await attach(ctx, file, workspaceId, `messages.${i}.files.${j}`))
      attached.set(file, attachment)
      const source = { kind: 'file' as const, ...attachment }
      const picture = source.media_type.startsWith('image/')
      parts.push(picture ? { type: 'image', source } : { type: 'file', source, name: source.name })
    }
    const row = rows[i]!
    if (parts.length > 0) row.content = [...(row.text.trim() === '' ? [] : row.content), ...parts]
  }
}

/** Limits a foreign clock's time: never in the future, and 1970 means that the time is unknown. */
function clampTime(time: string | undefined, fallback: Date, now: Date): Date {
  if (time === undefined) return fallback
  const at = new Date(time)
  if (at.getTime() <= 0) return fallback
  return at > now ? now : at
}

function buildTree(ctx: Context, chatId: Id, startedAt: Date, { messages }: GivenChat): MessageRow[] {
  const now = ctx.now()
  const nodes = new Map<string, { row: MessageRow; continued: boolean }>()
  messages.forEach((message, i) => {
    const param = `messages.${i}`
    if (nodes.has(message.id))
      refuse('invalid_parameter', { param: `${param}.id`, message: 'An earlier message already has this ID.' })
    const parent =
      message.parent_id === null
        ? null
        : (nodes.get(message.parent_id) ??
          refuse('invalid_parameter', {
            param: `${param}.parent_id`,
            message: 'No earlier message has this ID. A message must come after its parent.',
          }))
    const at = clampTime(message.created_at, startedAt, now)
    const id = idAt(at.getTime(), chatId, message.id)
    const row: MessageRow = {
      id,
      chat_id: chatId,
      parent_id: parent?.row.id ?? null,
      line_id: parent === null || parent.continued ? id : parent.row.line_id,
      depth: parent === null ? 0 : parent.row.depth + 1,
      seq: i + 1,
      run_id: null,
      role: message.role,
      status: 'completed',
      content: [{ type: 'text', text: message.text }],
      text: message.text,
      model: message.model,
      provider: null,
      finish_reason: null,
      usage: null,
      cost_nano: null,
      created_by: message.role === 'user' ? ctx.principal.accountId : null,
      created_at: at,
      updated_at: at,
    }
    if (parent !== null) parent.continued = true
    nodes.set(message.id, { row, continued: false })
  })
  return [...nodes.values()].map(({ row }) => row)
}
