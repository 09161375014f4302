import type { Incoming } from '../../client.ts'
import { codeOf } from '../exit.ts'
import type { Globals } from '../globals.ts'
import type { Terminal } from '../terminal.ts'
import { selected } from './select.ts'

/** Prints the response as JSON, filtered by `-q` or `--jq`. A run waiting for approval sets the exit code. */
export async function printWhole(response: Incoming, globals: Globals, terminal: Terminal): Promise<number> {
  const text = await response.text()
  await terminal.out(await selected(text, globals, terminal))
  const { data } = JSON.parse(text) as { data?: { run?: { status?: string } } }
  if (data?.run?.status === 'requires_action') return codeOf('undecided')
  return codeOf(data?.run?.status === 'cancelled' ? 'failure' : 'ok')
}
