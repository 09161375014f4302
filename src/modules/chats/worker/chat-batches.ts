import { createBatches } from '#infra/batches.ts'
import type { Log } from '#infra/log.ts'
import { type Postgres, sqlState } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { type IdleMessage, insertIntoIdle } from '../runs/message-inserts.ts'
import { type ChatRow, chatStore } from '../store.ts'

const MAX_FINDS = 500
/** Limited so that the first runs of a batch can start while the next batch is written. */
const MAX_MESSAGES = 100

export interface ChatBatches {
  find(id: Id): Promise<ChatRow | null>
  /** Accepts a message in an idle chat. Returns the new run's place, or null if nothing was written. */
  insertIntoIdle(message: IdleMessage): Promise<bigint | null>
}

export const createChatBatches = ({ postgres, log }: { postgres: Postgres; log: Log }): ChatBatches => ({
  find: createBatches(MAX_FINDS, (ids: Id[]) => chatStore.find(postgres, ids)),
  insertIntoIdle: createBatches(MAX_MESSAGES, async (messages: IdleMessage[]): Promise<(bigint | null)[]> => {
    try {
      const firsts = new Map(messages.toReversed().map((message) => [message.run.chat_id, message]))
      const places = await insertIntoIdle(postgres, [...firsts.values()])
      return messages.map(({ run }) => places.get(run.id) ?? null)
    } catch (error) {
      // The outcome is unknown, so don't retry.
      if (sqlState(error) === null) throw error
      // A message that can't be stored must not fail the others.
      log.debug({ error, messages: messages.length }, 'messages were not processed in a batch')
      return messages.map(() => null)
    }
  }),
})
