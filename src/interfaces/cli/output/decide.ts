import { contracts } from '#modules/contracts.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SendCall } from '../../client.ts'
import type { Globals } from '../globals.ts'
import { type Terminal, clean } from '../terminal.ts'

/** A run that waits, as far as a decision needs it. */
export interface Waiting {
  id: string
  chat_id: string
  pending_actions: { id: string; kind?: string; tool: string; arguments: unknown; can_remember?: boolean }[]
}

/** Takes the decisions that a run waits with. False: nobody here can, and what to do instead has been said. */
export type Decide = (run: Waiting) => Promise<boolean>

/** Asks one question and answers what was typed. */
export type AskLine = (question: string) => Promise<string>

/**
 * Asks the person at the terminal, call by call: `y` lets it go, `always` lets this tool go from here on in this chat, where
 * the server takes that, all else denies. Where nobody can be asked it says how to decide elsewhere.
 */
export function decider(
  call: SendCall,
  globals: Globals,
  terminal: Terminal,
  ask: AskLine = askHere(globals, terminal),
): Decide {
  // A log that is read from its beginning tells of what has been decided long ago.
  const taken = new Set<string>()
  const decide: Decide = async (run) => {
    if (run.pending_actions.every(({ id }) => taken.has(id))) return true
    if (!terminal.canAsk || globals['no-input']) {
      terminal.err(waits(run))
      // Who said --wait wants to see how it goes on, once somebody has decided.
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
      // The server lets the other calls of a tool go with the first that is allowed for good.
      if (can_remember && always.has(tool)) continue
      terminal.err(describe(action, terminal))
      const answer = (await ask(can_remember ? 'Let it? [y/N/always]' : 'Let it? [y/N]')).toLowerCase()
      if (can_remember && /^a(lways)?$/.test(answer)) {
        always.add(tool)
        actions.push({ id, decision: 'allow', remember: 'chat' })
      } else actions.push({ id, decision: /^y(es)?$/.test(answer) ? 'allow' : 'deny' })
    }
    for (const { id } of run.pending_actions) taken.add(id)
    if (actions.length > 0) await call(endpoints.actions, { id: run.chat_id, run_id: run.id, actions })
    return true
  }

  /** An agent that was handed a task waits in a chat of its own; the run above goes on once that one has ended. */
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

/** Describes all of a call that waits for a person, so that who agrees has seen it. */
function describe({ tool, arguments: given, kind }: Waiting['pending_actions'][number], terminal: Terminal): string {
  const short = JSON.stringify(given ?? {})
  const shown = short.length + tool.length + 4 <= terminal.columns ? short : JSON.stringify(given, null, 2)
  const why = kind === 'interrupted' ? ' (it may have been done already: to allow it is to do it again)' : ''
  return clean(`? ${tool} ${shown}${why}`)
}

/** The actions that a run waits with, and the words that let it go on. */
function waits({ id, chat_id, pending_actions }: Waiting): string {
  const calls = pending_actions.map(({ tool, arguments: given }) => `${tool} ${JSON.stringify(given)}`)
  // Ids come from vendors, and this line is for a shell.
  const actions = JSON.stringify(pending_actions.map((action) => ({ id: action.id, decision: 'allow' }))).replaceAll(
    "'",
    `'\\''`,
  )
  return clean(
    `Waits for your decision on ${calls.join(', ')}. With allow or deny:\nuk chats actions ${chat_id} ${id} --actions '${actions}'\nThen follow it: uk chats events ${chat_id} ${id}`,
  )
}
