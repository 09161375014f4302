/** The facts that a run's readers are told, and what can be put together again from them. */
import type { Part } from '../messages/parts.ts'

/** An event for a run's readers, before it has its number. */
export interface RunEvent {
  type: string
  data: Record<string, unknown>
}

type TextPart = Extract<Part, { type: 'text' }>
type ReasoningPart = Extract<Part, { type: 'reasoning' }>
type CallPart = Extract<Part, { type: 'tool_call' }>

/** The content that a message's events tell of, for one whose run broke off: what was shown is what is kept. */
export function partsOf(messageId: string, facts: Iterable<RunEvent>): Part[] {
  const parts: Part[] = []
  const byIndex = new Map<unknown, TextPart | ReasoningPart>()
  const calls = new Map<unknown, CallPart>()
  let of: unknown = null
  for (const { type, data } of facts) {
    if (type === 'message.started') of = (data.message as { id: string }).id
    if (of !== messageId) continue
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
/** Whether a run told its readers more than that it began: then it cannot begin again as if nothing had been. */
export const hasShown = (types: Iterable<string>): boolean => [...types].some((type) => !SHOWN.has(type))

const ENDS = new Set(['run.completed', 'run.failed', 'run.cancelled'])
export const isEnd = (type: string): boolean => ENDS.has(type)

/**
 * The parts that a run whose process died had durably come to, if it can go on from there: the last turn of its model
 * was kept, and since then only tools have answered. Null where the model had begun to say more, or nothing was kept.
 */
export function keptParts(messageId: string, content: readonly Part[], facts: Iterable<RunEvent>): Part[] | null {
  if (content.length === 0) return null
  const told = partsOf(messageId, facts)
  // A thought without words is kept for its provider and was never told.
  const known = content.filter((part) => part.type !== 'reasoning' || part.text !== '').length
  const further = told.slice(known)
  return further.every((part) => part.type === 'tool_result') ? [...content, ...further] : null
}
