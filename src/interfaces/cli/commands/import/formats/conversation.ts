import { shorten } from '#core/text/shorten.ts'

/** Converts exported chats into the input of `POST /chats/import`. Pure. */

export interface Message {
  id: string
  parent_id: string | null
  role: 'user' | 'assistant' | 'system'
  text: string
  created_at?: string
  model: string | null
  files: GivenFile[]
}

/** A file of the export: its ID there, and its new name. */
export interface GivenFile {
  ref: string
  name: string
  size: number
}

export interface Conversation {
  external_id: string
  title: string
  created_at?: string
  /** Each message follows its parent. */
  messages: Message[]
  head_id: string
}

export class Exported {
  readonly conversations: Conversation[] = []
  readonly left = new Map<string, number>()
  readonly #find: (ref: string) => { name: string; size: number } | null

  constructor(find: (ref: string) => { name: string; size: number } | null = () => null) {
    this.#find = find
  }

  /** Returns the existing files within the size limit, without duplicates. Counts the others as skipped. */
  filesOf(refs: Iterable<string>): GivenFile[] {
    const files: GivenFile[] = []
    for (const ref of new Set(refs)) {
      const found = this.#find(ref)
      if (found === null) this.leave('images, audio and other files missing from the export')
      else if (found.size > MAX_FILE_BYTES) this.leave('files larger than 20 MB')
      else if (files.length >= MAX_FILES) this.leave('files over the limit of 100 per message')
      else files.push({ ref, ...found })
    }
    return files
  }

  leave(what: string, count = 1): void {
    if (count > 0) this.left.set(what, (this.left.get(what) ?? 0) + count)
  }

  /** Counts an unknown content type. The name comes from the file, so its form and number are bounded. */
  leaveType(type: unknown): void {
    const isName = typeof type === 'string' && /^[\w.:/-]{1,60}$/.test(type)
    const what = isName ? `parts of type "${type}"` : 'parts of other types'
    const isNew = !this.left.has(what)
    this.leave(isNew && this.left.size >= MAX_KINDS ? 'parts of other types' : what)
  }
}

/** A node of the message tree. Nodes without text and files are skipped, and their children move up. */
export interface Node {
  id: string
  parent: string | null
  role: Message['role']
  text: string
  /** Milliseconds since 1970. */
  at: number | null
  model: string | null
  files?: GivenFile[]
}

const MAX_FILES = 100
const MAX_KINDS = 60
/** Limits of the import endpoint. */
const MAX_FILE_BYTES = 20 << 20
const MAX_MESSAGES = 10_000
const MAX_CHARACTERS = 1_000_000
const CUT = '\n\n[truncated during import]'

/** Builds a conversation from the nodes and adds it to `exported`; skips chats without text. */
export function conversationOf(
  about: { external_id: string; title: string; at: number | null; head: string | null },
  nodes: readonly Node[],
  exported: Exported,
): void {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const nonEmpty = new Set<string>()
  for (const node of nodes) if (node.text.trim() !== '' || node.files?.length) nonEmpty.add(node.id)
  const messages: Message[] = []
  const ancestors = new Map<string, string | null>()
  /**
   * Places the nearest ancestor with content before its descendants. Iterative: a chat may be thousands of messages
   * deep.
   */
  const place = (start: string | null): string | null => {
    const path: Node[] = []
    const visited = new Set<string>()
    let at = start
    while (at !== null && !ancestors.has(at)) {
      const node = byId.get(at)
      // A missing parent or a cycle starts the chat.
      if (node === undefined || visited.has(at)) break
      visited.add(at)
      path.push(node)
      at = node.parent
    }
    let above = at === null ? null : (ancestors.get(at) ?? null)
    for (const node of path.toReversed()) {
      if (nonEmpty.has(node.id)) {
        messages.push(messageOf(node, above, exported))
        above = shorten(node.id, 200)
      }
      ancestors.set(node.id, above)
    }
    return above
  }
  for (const node of nodes) place(node.id)
  if (messages.length === 0) return exported.leave('chats without text')
  if (messages.length > MAX_MESSAGES) return exported.leave(`chats with more than ${MAX_MESSAGES} messages`)
  const head = about.head === null ? null : (ancestors.get(about.head) ?? null)
  const created = timeOf(about.at)
  exported.conversations.push({
    external_id: shorten(about.external_id, 200),
    title: titleOf(about.title, messages),
    ...(created !== undefined && { created_at: created }),
    messages,
    head_id: head ?? messages.at(-1)!.id,
  })
}

function messageOf(node: Node, parent: string | null, exported: Exported): Message {
  let text = node.text.replaceAll('\0', '')
  if (text.length > MAX_CHARACTERS) {
    text = shorten(text, MAX_CHARACTERS - CUT.length) + CUT
    exported.leave('messages truncated at 1 million characters')
  }
  const created = timeOf(node.at)
  return {
    id: shorten(node.id, 200),
    parent_id: parent,
    role: node.role,
    text,
    ...(created !== undefined && { created_at: created }),
    model: node.model === null || node.model === '' ? null : shorten(node.model, 200),
    files: node.files ?? [],
  }
}

function titleOf(given: string, messages: readonly Message[]): string {
  const words = given.replaceAll(/\s+/g, ' ').trim()
  const first = messages[0]!.text.replaceAll(/\s+/g, ' ').trim()
  const title = words === '' ? shorten(first, 60) : shorten(words, 200)
  return title.trim() === '' ? 'Imported chat' : title.trim()
}

const timeOf = (ms: number | null): string | undefined =>
  ms !== null && Number.isFinite(ms) && ms > 0 && ms < 4e12 ? new Date(ms).toISOString() : undefined

type Json = Record<string, unknown>
export const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
export const textOr = <T>(value: unknown, other: T): string | T => (typeof value === 'string' ? value : other)
export function millisecondsOf(value: unknown): number | null {
  if (typeof value === 'number') return value > 1e11 ? value : value * 1000
  if (typeof value !== 'string') return null
  const ms = Date.parse(value)
  return Number.isNaN(ms) ? null : ms
}
