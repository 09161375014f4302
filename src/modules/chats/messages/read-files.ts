/** Loads files of messages: within request limits for a model, with all bytes for a transcript. */
import { type Attachment, bytesAttached, textAttached } from '#modules/drive/service.ts'
import type { Engine } from '#infra/context.ts'
import { Refusal } from '#core/errors.ts'
import type { PathMessage } from './history.ts'
import { type FromDrive, type Part, isFromDrive } from './parts.ts'
import { shorten } from '#core/text/shorten.ts'

/** Limits per model call: bytes of images and PDFs, characters of text. */
const MAX_BYTES = 20 << 20
const MAX_CHARACTERS = 1_000_000
const MAX_TEXT_LENGTH = 200_000

const PICTURE = /^image\/(png|jpeg|gif|webp)$/

/** Adds file contents, newest messages first if not all fit. A note replaces each file that can't be read. */
export async function readFiles(
  engine: Engine,
  path: readonly PathMessage[],
  signal: AbortSignal,
): Promise<PathMessage[]> {
  if (!path.some(({ content }) => content.some(isFromDrive))) return [...path]
  const room = { bytes: MAX_BYTES, characters: MAX_CHARACTERS }
  const messages: PathMessage[] = []
  for (const message of path.toReversed()) {
    const content: Part[] = []
    for (const part of message.content)
      content.push(isFromDrive(part) ? await forModel(engine, part, room, signal) : part)
    messages.unshift({ ...message, content })
  }
  return messages
}

async function forModel(
  engine: Engine,
  { source, ...part }: FromDrive,
  room: { bytes: number; characters: number },
  signal: AbortSignal,
): Promise<Part> {
  const { media_type, size_bytes, name } = source
  const isPicture = PICTURE.test(media_type)
  if (isPicture || media_type === 'application/pdf') {
    if (size_bytes > room.bytes) return note(source, 'it doesn’t fit next to newer files')
    const bytes = await bytesAttached(engine, source)
    if (bytes === null) return note(source, 'it was deleted')
    room.bytes -= bytes.length
    const embeddedSource = { kind: 'base64' as const, media_type, data: bytes.toString('base64') }
    if (isPicture) return { type: 'image', source: embeddedSource }
    return { type: 'file', source: embeddedSource, name: 'name' in part ? part.name : name }
  }
  try {
    const text = await textAttached(engine, source, signal)
    if (Math.min(text.length, MAX_TEXT_LENGTH) > room.characters)
      return note(source, 'it doesn’t fit next to newer files')
    const excerpt = shorten(text, MAX_TEXT_LENGTH).toWellFormed()
    room.characters -= excerpt.length
    const remark = text.length > excerpt.length ? `\n[The first ${excerpt.length} of ${text.length} characters.]` : ''
    return { type: 'text', text: `[${name}]\n${excerpt}${remark}` }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Refusal) return note(source, error.message)
    if ((await bytesAttached(engine, source)) === null) return note(source, 'it was deleted')
    throw error
  }
}

const note = ({ name }: Attachment, why: string): Part => ({ type: 'text', text: `[${name} isn’t shown: ${why}]` })

export async function embedded(engine: Engine, part: Part): Promise<Part> {
  if (!isFromDrive(part)) return part
  const bytes = await bytesAttached(engine, part.source)
  if (bytes === null) return note(part.source, 'it was deleted')
  const source = { kind: 'base64' as const, media_type: part.source.media_type, data: bytes.toString('base64') }
  return part.type === 'image' ? { type: 'image', source } : { type: 'file', source, name: part.name }
}
