import type { Message } from '../queries.ts'

export type Messages = ReadonlyMap<string, Message>
export type Following = ReadonlyMap<string | null, readonly Message[]>

/** The loaded messages up to `head`, oldest first. Tool results are shown with their calls. */
export function branchTo(messages: Messages, head: string | null): Message[] {
  const branch: Message[] = []
  for (let id = head; id !== null;) {
    const message = messages.get(id)
    if (message === undefined) break
    branch.push(message)
    id = message.parent_id
  }
  return branch.toReversed()
}

const byAge = (a: Message, b: Message): number => a.seq - b.seq

/** Indexes messages by parent once, so that rows don't search all messages for their siblings. */
export function followingIn(messages: Messages): Following {
  const following = new Map<string | null, Message[]>()
  for (const message of messages.values()) {
    const beside = following.get(message.parent_id)
    if (beside === undefined) following.set(message.parent_id, [message])
    else beside.push(message)
  }
  for (const beside of following.values()) if (beside.length > 1) beside.sort(byAge)
  return following
}

const nobody: readonly Message[] = []

/** A message and its siblings, oldest first. Returns the same list each time. */
export const siblingsOf = (following: Following, { parent_id }: Message): readonly Message[] =>
  following.get(parent_id) ?? nobody

export function leafBelow(following: Following, id: string): string {
  let leaf = id
  for (let next = following.get(leaf)?.at(-1); next !== undefined; next = following.get(leaf)?.at(-1)) leaf = next.id
  return leaf
}

export interface ToolResult {
  output: unknown
  isError: boolean
}

export function resultsIn(branch: readonly Message[]): Map<string, ToolResult> {
  const results = new Map<string, ToolResult>()
  for (const { content } of branch)
    for (const part of content)
      if (part.type === 'tool_result') results.set(part.tool_call_id, { output: part.output, isError: part.is_error })
  return results
}
