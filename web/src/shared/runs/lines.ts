import type { RunEvent } from '../conversation/queries.ts'
import { shorten } from '../../../../src/core/text/shorten.ts'
import { jsonText } from '../../ui/text/json-text.ts'

export interface LogLine {
  key: string
  at: string
  kind: 'state' | 'text' | 'reasoning' | 'tool' | 'result' | 'error' | 'cost'
  text: string
  chatId?: string
}

export interface Log {
  lines: readonly LogLine[]
  seq: number
  ended: boolean
}
export const emptyLog: Log = { lines: [], seq: 0, ended: false }

const MAX_SHOWN = 20_000
const textOf = (output: unknown): string => shorten(typeof output === 'string' ? output : jsonText(output), MAX_SHOWN)

/** Applies more events to the log; ignores repeated ones. */
export function logged(log: Log, events: readonly RunEvent[]): Log {
  const lines = [...log.lines]
  let { seq, ended } = log
  const places = new Map(lines.map(({ key }, at) => [key, at]))
  const put = (line: LogLine): void => {
    places.set(line.key, lines.length)
    lines.push(line)
  }
  /** Appends to the line with this key, or starts it. */
  const grow = (line: LogLine): void => {
    const at = places.get(line.key)
    if (at === undefined) put(line)
    else lines[at] = { ...lines[at]!, text: lines[at]!.text + line.text }
  }
  for (const { event, data } of events) {
    if (data.seq <= seq) continue
    seq = data.seq
    const { at } = data
    const key = String(seq)
    switch (event) {
      case 'run.started':
        put({
          key,
          at,
          kind: 'state',
          text: `Started with ${data.run.model}${data.run.attempt > 1 ? `, attempt ${data.run.attempt}` : ''}`,
        })
        break
      case 'text.delta':
      case 'reasoning.delta':
        grow({
          key: `${data.message_id} ${data.index} ${event}`,
          at,
          kind: event === 'text.delta' ? 'text' : 'reasoning',
          text: data.delta,
        })
        break
      case 'tool_call.started':
        put({ key: `call ${data.tool_call_id}`, at, kind: 'tool', text: `${data.name} ` })
        break
      case 'tool_call.delta':
        grow({ key: `call ${data.tool_call_id}`, at, kind: 'tool', text: data.delta })
        break
      case 'tool_result':
        put({ key, at, kind: data.is_error ? 'error' : 'result', text: textOf(data.output) })
        break
      case 'subagent.started':
        put({ key, at, kind: 'state', text: 'Delegated to another agent', chatId: data.chat_id })
        break
      case 'mcp_server.error':
        put({ key, at, kind: 'error', text: `Tools of ${data.server} are unavailable: ${data.message}` })
        break
      case 'run.requires_action':
        put({ key, at, kind: 'state', text: 'Waiting for approval', chatId: data.run.chat_id })
        break
      case 'usage':
        put({
          key,
          at,
          kind: 'cost',
          text: `${data.usage.input_tokens} input tokens, ${data.usage.output_tokens} output tokens${data.cost_usd === null ? '' : `, $${data.cost_usd}`}`,
        })
        break
      case 'run.failed':
        put({ key, at, kind: 'error', text: data.error.message })
        ended = true
        break
      case 'run.completed':
      case 'run.cancelled':
        put({ key, at, kind: 'state', text: event === 'run.completed' ? 'Done' : 'Stopped' })
        ended = true
        break
      default:
        break
    }
  }
  return { lines, seq, ended }
}
