import { contracts } from '#modules/contracts.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SendCall } from '../../client.ts'
import type { Globals } from '../globals.ts'
import { type Terminal, clean } from '../terminal.ts'

export interface Waiting {
  id: string
  chat_id: string
  pending_actions: { id: string; kind?: string; tool: string; arguments: unknown; can_remember?: boolean }[]
}

/**
 * Decides a run's pending tool calls. Returns false if no one can be asked here; instructions have then been printed.
 */
export type Decide = (run: Waiting) => Promise<boolean>

export type AskLine = (question: string) => Promise<string>

/**
 * Asks for approval of each tool call: `y` allows it, `always` allows the tool for the rest of the chat if the server
 * supports that, anything else denies. Without a terminal, prints how to decide elsewhere.
 */
export function decider(
  call: SendCall,
  globals: Globals,
  terminal: Terminal,
  ask: AskLine = askHere(globals, terminal),
): Decide {
  // A log read from the start contains calls decided long ago.
  const decidedIds = new Set<string>()
  const decide: Decide = async (run) => {
    if (run.pending_actions.every(({ id }) => decidedIds.has(id))) return true
    if (!terminal.canAsk || globals['no-input']) {
      terminal.err(waits(run))
      // With --wait, keep following until someone decides elsewhere.
      return globals.wait === true
    }
    const { endpoints } = await contracts.chats()
    const actions: { id: string; decision: 'allow' | 'deny'; remember?: 'chat' }[] = []
    const always = new Set<string>()
    for (const action of run.pending_actions) {
      if (action.kind === 'subagent') {
        await decideBelow(action.arguments)
        continue
      }
      const { id, tool, can_remember = false } = action
      // Allowing a tool for the chat also allows its other pending calls.
      if (can_remember && always.has(tool)) continue
      terminal.err(describe(action, terminal))
      const answer = (await ask(can_remember ? 'Allow? [y/N/always]' : 'Allow? [y/N]')).toLowerCase()
      if (can_remember && /^a(lways)?$/.test(answer)) {
        always.add(tool)
        actions.push({ id, decision: 'allow', remember: 'chat' })
      } else actions.push({ id, decision: /^y(es)?$/.test(answer) ? 'allow' : 'deny' })
    }
    for (const { id } of run.pending_actions) decidedIds.add(id)
    if (actions.length > 0) await call(endpoints.actions, { id: run.chat_id, run_id: run.id, actions })
    return true
  }

  /** A subagent waits in its own chat. The parent run continues when the subagent's run ends. */
  async function decideBelow(given: unknown): Promise<void> {
    const { chat_id, run_id } = given as { chat_id?: string; run_id?: string }
    if (chat_id === undefined || run_id === undefined) return
    const { endpoints } = await contracts.chats()
    for (;;) {
      const text = await (await call(endpoints.run, { id: chat_id, run_id })).text()
      const { data: run } = JSON.parse(text) as { data: Waiting & { status: string } }
      if (run.status === 'requires_action') await decide(run)
      else if (run.status !== 'queued' && run.status !== 'running') return
      await sleep(LOOK_MS)
    }
  }
  return decide
}

const LOOK_MS = 500

const askHere =
  (globals: Globals, terminal: Terminal): AskLine =>
  async (question) =>
    (await import('../input/prompt.ts')).ask(question, '--no-input', globals, terminal)

/** Shows the whole call: users must see what they approve. */
function describe({ tool, arguments: given, kind }: Waiting['pending_actions'][number], terminal: Terminal): string {
  const short = JSON.stringify(given ?? {})
  const shown = short.length + tool.length + 4 <= terminal.columns ? short : JSON.stringify(given, null, 2)
  const why = kind === 'interrupted' ? ' (may have run already; allowing runs it again)' : ''
  return clean(`? ${tool} ${shown}${why}`)
}

function waits({ id, chat_id, pending_actions }: Waiting): string {
  const calls = pending_actions.map(({ tool, arguments: given }) => `${tool} ${JSON.stringify(given)}`)
  // IDs come from providers; this line is pasted into a shell.
  const actions = JSON.stringify(pending_actions.map((action) => ({ id: action.id, decision: 'allow' }))).replaceAll(
    "'",
    `'\\''`,
  )
  return clean(
    `Waiting for your approval: ${calls.join(', ')}. To decide (allow or deny):\nuk chats actions ${chat_id} ${id} --actions '${actions}'\nThen follow the run: uk chats events ${chat_id} ${id}`,
  )
}
