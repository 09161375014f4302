import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf, wholeAt } from '#core/paging.ts'
import { messageStore } from './message-store.ts'
import type { ChatRow } from '../store.ts'
import { showMessage } from './show.ts'

interface ListQuery {
  branch: 'active' | 'all'
  order: 'asc' | 'desc'
  cursor?: string | undefined
  limit: number
}

/** The cursor stores the head of the first page's branch, so that new messages don't shift later pages. */
export async function listMessages(
  ctx: Context,
  { id, head_message_id }: ChatRow,
  { branch, order, cursor, limit }: ListQuery,
) {
  const filters = { id, branch, order }
  const position = positionOf('messages', filters, cursor)
  if (branch === 'all') {
    const after = wholeAt(position, 0)
    const rows = await messageStore.all(ctx.db, id, { order, after, limit: limit + 1 })
    return pageOf(rows, limit, ({ seq }) => cursorOf('messages', filters, [seq]), showMessage)
  }
  const head = (position?.[0] as Id) ?? head_message_id
  if (head === null) return { rows: [], next: null }
  const after = wholeAt(position, 1)
  const rows = await messageStore.path(ctx.engine.postgres, { head, order, after, limit: limit + 1 })
  // The message ID in a cursor comes from the client, so check that it is in this chat.
  if (rows.some(({ chat_id }) => chat_id !== id)) refuse('invalid_cursor', { param: 'cursor' })
  return pageOf(rows, limit, ({ depth }) => cursorOf('messages', filters, [head, depth]), showMessage)
}
