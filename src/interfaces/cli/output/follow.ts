import type { Terminal } from '../terminal.ts'

const followed = new Set(['chats.send', 'chats.stream', 'chats.retry', 'chats.events'])

/** A run this command follows; `id` is null until its first event. */
export interface Followed extends Disposable {
  id: string | null
}

/** If the command follows a run, Ctrl-C prints how to follow or stop it: the run itself continues. */
export function followRun(name: string, input: Record<string, unknown>, terminal: Terminal): Followed | null {
  if (!followed.has(name)) return null
  const chat = String(input.id)
  const run: Followed = {
    id: typeof input.run_id === 'string' ? input.run_id : null,
    [Symbol.dispose]: terminal.onInterrupt(() => {
      const follow = run.id === null ? `\`uk chats runs ${chat}\`` : `\`uk chats events ${chat} ${run.id}\``
      terminal.err(`\nThe run continues. Follow it: ${follow}. Stop it: \`uk chats stop ${chat}\`.`)
    }),
  }
  return run
}
