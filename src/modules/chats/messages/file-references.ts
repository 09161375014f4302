import type { z } from 'zod'
import { type Attachment, attach, carry } from '#modules/drive/service.ts'
import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import type { GivenContent } from '../contract-messages.ts'
import { lockActiveChat } from '../lock.ts'
import { messageStore } from './message-store.ts'
import { type Part, isFromDrive } from './parts.ts'
import type { ChatRow } from '../store.ts'

type Given = z.output<typeof GivenContent>[number]
export const namesFiles = (content: readonly Given[]): boolean =>
  content.some((part) => part.type !== 'text' && part.source.kind === 'file')

/**
 * Replaces file references with attachments of their current content. Needs the transaction that accepts the message.
 */
export async function withFiles(ctx: Context, chat: ChatRow, content: readonly Given[]): Promise<Part[]> {
  // Locks the chat before its files, in the same order as copying.
  const { workspace_id } = await lockActiveChat(ctx, chat.id)
  const parts: Part[] = []
  for (const [i, part] of content.entries())
    if (part.type === 'text' || part.source.kind !== 'file') parts.push(part as Part)
    else {
      const attachment = await attach(ctx, part.source.file_id, workspace_id, `content.${i}.source.file_id`)
      const source = { kind: 'file' as const, ...attachment }
      parts.push(
        part.type === 'image' ? { type: 'image', source } : { ...part, name: part.name ?? attachment.name, source },
      )
    }
  return parts
}

export async function carryFiles(ctx: Context, chatId: Id, workspaceId: Id): Promise<void> {
  const rows = await messageStore.withFiles(ctx.db, chatId)
  const all = new Map<string, Attachment>()
  for (const { content } of rows)
    for (const part of content) if (isFromDrive(part)) all.set(keyOf(part.source), part.source)
  if (all.size === 0) return
  const carried = await carry(ctx, [...all.values()], workspaceId)
  const copies = new Map([...all.keys()].map((key, i) => [key, carried[i]!]))
  for (const { id, content } of rows) {
    const movedParts = content.map((part): Part =>
      isFromDrive(part) ? { ...part, source: { kind: 'file', ...copies.get(keyOf(part.source))! } } : part,
    )
    await messageStore.keep(ctx.db, id, { content: movedParts })
  }
}

const keyOf = ({ file_id, sha256 }: Attachment): string => `${file_id} ${sha256}`
