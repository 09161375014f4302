import type { Message } from '../queries.ts'

export type Messages = ReadonlyMap<string, Message>

/** Oldest first: what leads to `head`, as far as it is loaded. Tool messages are shown with the calls that they answer. */
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

/** A message and those that stand beside it, oldest first: another wording, another try. */
export const siblingsOf = (messages: Messages, message: Message): Message[] =>
  [...messages.values()].filter(({ parent_id }) => parent_id === message.parent_id).toSorted(byAge)

/** The end of the newest branch that goes through a message. */
export function leafBelow(messages: Messages, id: string): string {
  const newest = new Map<string, Message>()
  for (const message of messages.values()) {
    const { parent_id } = message
    if (parent_id === null) continue
    const known = newest.get(parent_id)
    if (known === undefined || known.seq < message.seq) newest.set(parent_id, message)
  }
  let leaf = id
  for (let next = newest.get(leaf); next !== undefined; next = newest.get(leaf)) leaf = next.id
  return leaf
}

export interface ToolResult {
  output: unknown
  isError: boolean
}

/** What tools answered, by the id of their call. */
export function resultsIn(branch: readonly Message[]): Map<string, ToolResult> {
  const results = new Map<string, ToolResult>()
  for (const { content } of branch)
    for (const part of content)
      if (part.type === 'tool_result') results.set(part.tool_call_id, { output: part.output, isError: part.is_error })
  return results
}
