import { type SentEvent, allEvents, readEvents } from '../events.ts'
import type { Caller } from '../server.ts'
import { script } from './chats.ts'

/** The text that was said, as the deltas of a stream tell it. */
export const joined = (events: readonly SentEvent[]): string =>
  events.map(({ event, data }) => (event === 'text.delta' ? data.delta : '')).join('')

/** The steps that somebody takes with runs of chats that `sim/script` answers. */
export const chatting = (who: Caller) => ({
  made: async (): Promise<string> => (await who.post('/chats', { model: 'sim/script' })).body.data.id,
  /** Starts an answer that goes on until it is stopped; answers its run once something was said. */
  async begun(chat: string, say = 'first words'): Promise<string> {
    for await (const { event, data } of readEvents(who, `/chats/${chat}/messages/stream`, {
      body: { content: script({ text: say }, { delay_ms: 60_000 }, { text: ' never said' }) },
    }))
      if (event === 'text.delta') return data.run_id
    throw new Error('nothing was said')
  },
  runOf: async (chat: string, run: string) => (await who.get(`/chats/${chat}/runs/${run}`)).body.data,
  /** All that is told of a run, until it has ended. */
  ended: (chat: string, run: string): Promise<SentEvent[]> => allEvents(who, `/chats/${chat}/runs/${run}/events`),
})
