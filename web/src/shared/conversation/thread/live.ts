import type { Message, Run, RunEvent } from '../queries.ts'

/** A run according to its events, before the message rows are stored. */
export interface Live {
  run: Run | null
  messages: ReadonlyMap<string, Message>
  seq: number
  /** MCP servers that couldn't be reached. */
  troubles: readonly string[]
}

export const nothingYet: Live = { run: null, messages: new Map(), seq: 0, troubles: [] }

type Part = Message['content'][number]

/** Applies more events; ignores repeated ones. */
export function tell(live: Live, events: readonly RunEvent[]): Live {
  let { run, seq } = live
  const messages = new Map(live.messages)
  const troubles = [...live.troubles]
  const change = (id: string | undefined, how: (content: Part[]) => void): void => {
    const message = id === undefined ? undefined : messages.get(id)
    if (message === undefined) return
    const content = [...message.content]
    how(content)
    messages.set(message.id, { ...message, content })
  }
  const last = (): string | undefined => [...messages.keys()].at(-1)
  const grow = (type: 'text' | 'reasoning', at: number, delta: string) => (content: Part[]) => {
    const part = content[at]
    if (part?.type === type) content[at] = { ...part, text: part.text + delta }
    else {
      // Skips parts without events.
      while (content.length < at) content.push({ type: 'text', text: '' })
      content[at] = type === 'text' ? { type, text: delta } : { type, text: delta, opaque: null }
    }
  }
  const toCall = (id: string, how: (call: Part & { type: 'tool_call' }) => Part) => (content: Part[]) => {
    const at = content.findIndex((part) => part.type === 'tool_call' && part.id === id)
    const part = content[at]
    if (part?.type === 'tool_call') content[at] = how(part)
  }
  for (const { event, data } of events) {
    if (data.seq <= seq) continue
    seq = data.seq
    switch (event) {
      case 'message.started':
      case 'message.completed':
        messages.set(data.message.id, data.message)
        break
      case 'text.delta':
        change(data.message_id, grow('text', data.index, data.delta))
        break
      case 'reasoning.delta':
        change(data.message_id, grow('reasoning', data.index, data.delta))
        break
      case 'tool_call.started':
        change(last(), (content) =>
          content.push({ type: 'tool_call', id: data.tool_call_id, name: data.name, arguments: '' }),
        )
        break
      case 'tool_call.delta':
        change(
          last(),
          toCall(data.tool_call_id, (call) => ({ ...call, arguments: call.arguments + data.delta })),
        )
        break
      case 'tool_call.completed':
        change(
          last(),
          toCall(data.tool_call_id, (call) => ({ ...call, arguments: data.arguments })),
        )
        break
      case 'tool_result':
        change(last(), (content) => {
          const { tool_call_id, output, is_error } = data
          content.push({ type: 'tool_result', tool_call_id, output, is_error })
        })
        break
      case 'mcp_server.error':
        troubles.push(`${data.server}: ${data.message}`)
        break
      case 'usage':
        break
      case 'subagent.started':
        break
      default:
        run = data.run
    }
  }
  return { run, messages, seq, troubles }
}

export const isUnfinished = ({ status }: Run): boolean => /^(queued|running|requires_action)$/.test(status)
