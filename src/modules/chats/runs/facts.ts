import type { Part } from '../messages/parts.ts'

export interface RunEvent {
  type: string
  data: Record<string, unknown>
}

type TextPart = Extract<Part, { type: 'text' }>
type ReasoningPart = Extract<Part, { type: 'reasoning' }>
type CallPart = Extract<Part, { type: 'tool_call' }>

/** Rebuilds a message's content from its events, for an interrupted run: readers keep what they were shown. */
export function partsOf(messageId: string, facts: Iterable<RunEvent>): Part[] {
  const parts: Part[] = []
  const byIndex = new Map<unknown, TextPart | ReasoningPart>()
  const calls = new Map<unknown, CallPart>()
  let currentId: unknown = null
  for (const { type, data } of facts) {
    if (type === 'message.started') currentId = (data.message as { id: string }).id
    if (currentId !== messageId) continue
    if (type === 'text.delta' || type === 'reasoning.delta') {
      let part = byIndex.get(data.index)
      if (!part) {
        part = type === 'text.delta' ? { type: 'text', text: '' } : { type: 'reasoning', text: '', opaque: null }
        byIndex.set(data.index, part)
        parts.push(part)
      }
      part.text += data.delta as string
    } else if (type === 'tool_call.started') {
      const call = {
        type: 'tool_call' as const,
        id: data.tool_call_id as string,
        name: data.name as string,
        arguments: '',
      }
      calls.set(call.id, call)
      parts.push(call)
    } else if (type === 'tool_call.delta') {
      const call = calls.get(data.tool_call_id)
      if (call) call.arguments += data.delta as string
    } else if (type === 'tool_result') {
      const { tool_call_id, output, is_error } = data
      parts.push({ type: 'tool_result', tool_call_id: tool_call_id as string, output, is_error: is_error as boolean })
    }
  }
  return parts
}

const SHOWN = new Set(['run.started', 'message.started', 'mcp_server.error'])
/** Returns whether readers have seen part of an answer. Such a run can't restart from scratch. */
export const hasVisibleEvents = (types: Iterable<string>): boolean => [...types].some((type) => !SHOWN.has(type))

const ENDS = new Set(['run.completed', 'run.failed', 'run.cancelled'])
export const isEnd = (type: string): boolean => ENDS.has(type)

/**
 * Returns the parts from which another process can continue the run: the last saved model turn and later tool results.
 * Null if nothing was saved or the model had started a new turn.
 */
export function savedParts(messageId: string, content: readonly Part[], facts: Iterable<RunEvent>): Part[] | null {
  if (content.length === 0) return null
  const eventParts = partsOf(messageId, facts)
  // Reasoning without text is kept for its provider and emits no events.
  const savedCount = content.filter((part) => part.type !== 'reasoning' || part.text !== '').length
  const laterParts = eventParts.slice(savedCount)
  return laterParts.every((part) => part.type === 'tool_result') ? [...content, ...laterParts] : null
}
