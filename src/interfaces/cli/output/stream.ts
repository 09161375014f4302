import type { Incoming } from '../../client.ts'
import { type Received, readEvents } from '../../sse.ts'
import { codeOf } from '../exit.ts'
import type { Globals } from '../globals.ts'
import { fileSink } from '../sink.ts'
import { type Terminal, clean, shown } from '../terminal.ts'
import type { Decide, Waiting } from './decide.ts'
import type { Followed } from './follow.ts'

type Row = Record<string, unknown>

export interface Streaming {
  response: Incoming
  globals: Globals
  terminal: Terminal
  /** The followed run. The stream sets its ID. */
  run?: Followed | null
  /** Asks for approval. Without it, a run that waits for approval ends the reading. */
  decide?: Decide
}

interface ToolCall {
  name?: unknown
  /** JSON text from the model. */
  arguments?: unknown
}
export const toolLine = (call: ToolCall): string => `→ ${String(call.name)} ${String(call.arguments)}`

/** Prints model text as it arrives, hides other run events, and prints any other event as a line. */
export async function printStream({ response, globals, terminal, run, decide }: Streaming): Promise<number> {
  const { output } = globals
  await using sink = output === undefined || output === '-' ? null : await fileSink(output)
  let failed: string | null = null
  let undecided = false
  let midLine = false
  const endLine = async (): Promise<void> => {
    if (midLine) await terminal.out('\n')
    midLine = false
  }
  for await (const received of readEvents(response.bytes())) {
    const { event } = received
    const data = (received.data ?? {}) as Row
    if (run && typeof data.run_id === 'string') run.id = data.run_id
    if (event === 'run.cancelled') failed = 'The run was canceled.'
    if (event.endsWith('.failed')) failed = clean(String((data.error as Row | undefined)?.message ?? 'The run failed.'))
    if (globals.json) await terminal.out(`${JSON.stringify(received)}\n`)
    else if (event === 'text.delta') {
      const text = shown(String(data.delta), terminal)
      midLine = !text.endsWith('\n')
      await terminal.out(text)
    } else if (typeof data.audio === 'string') {
      const bytes = Buffer.from(data.audio, 'base64')
      await (output === '-' ? terminal.out(bytes) : sink?.write(bytes))
    } else if (event === 'tool_call.completed') {
      await endLine()
      terminal.err(terminal.style('dim', clean(toolLine(data))))
    } else if (event === 'mcp_server.error') {
      await endLine()
      terminal.err(clean(`${String(data.server)}: ${String(data.message)}`))
    } else if (!isOfARun(received)) await terminal.out(`${event}\t${clean(JSON.stringify(data))}\n`)
    if (event === 'run.requires_action') {
      await endLine()
      undecided = !((await decide?.(data.run as Waiting)) ?? false)
      // The run waits until someone decides, which may be never, so stop reading.
      if (undecided) break
    }
  }
  await endLine()
  if (sink && sink.written() > 0) terminal.err(`Saved ${output} (${sink.written()} bytes)`)
  if (failed !== null && !globals.json) terminal.err(`${terminal.style('red', 'uk:')} ${failed}`)
  if (undecided) return codeOf('undecided')
  return codeOf(failed === null ? 'ok' : 'failure')
}

const isOfARun = ({ event }: Received): boolean =>
  /^(run|message|reasoning|tool_call|tool_result|usage|audio|subagent)(\.|$)/.test(event)
