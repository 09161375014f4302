import type { Terminal } from '../terminal.ts'

const followed = new Set(['chats.send', 'chats.stream', 'chats.retry', 'chats.events'])

/** A run that is followed from here; `id` is null until its first event names it. */
export interface Followed extends Disposable {
  id: string | null
}

/** Follows a run of a chat, if this is what the command does: Ctrl-C then says that the run goes on without us. */
export function followRun(name: string, input: Record<string, unknown>, terminal: Terminal): Followed | null {
  if (!followed.has(name)) return null
  const chat = String(input.id)
  const run: Followed = {
    id: typeof input.run_id === 'string' ? input.run_id : null,
    [Symbol.dispose]: terminal.onInterrupt(() => {
      const follow =
        run.id === null ? `\`uk chats runs ${chat}\` lists it` : `\`uk chats events ${chat} ${run.id}\` follows it`
      terminal.err(`\nThe run goes on: ${follow}, \`uk chats stop ${chat}\` ends it.`)
    }),
  }
  return run
}
