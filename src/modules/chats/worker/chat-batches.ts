import { createBatches } from '#infra/batches.ts'
import type { Log } from '#infra/log.ts'
import { type Postgres, sqlState } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import { type IdleMessage, insertIntoIdle } from '../runs/sent-store.ts'
import { type ChatRow, chatStore } from '../store.ts'

const MOST_FINDS = 500
/** The first of hundreds at once are not to wait for the last: the next such batch is written while these begin. */
const MOST_MESSAGES = 100

/** Statements that calls of one moment share. One of these is a handle of the server: see `ChatHandles`. */
export interface ChatBatches {
  /** The chat, with which every call on it begins; null where there is none. */
  find(id: Id): Promise<ChatRow | null>
  /** Takes a message into a chat that is idle. Answers the place of the run that was begun; null where nothing was written. */
  insertIntoIdle(message: IdleMessage): Promise<bigint | null>
}

export const createChatBatches = ({ postgres, log }: { postgres: Postgres; log: Log }): ChatBatches => ({
  find: createBatches(MOST_FINDS, (ids: Id[]) => chatStore.find(postgres, ids)),
  insertIntoIdle: createBatches(MOST_MESSAGES, async (messages: IdleMessage[]): Promise<(bigint | null)[]> => {
    try {
      // The second of two into one chat finds it busy.
      const firsts = new Map(messages.toReversed().map((message) => [message.run.chat_id, message]))
      const places = await insertIntoIdle(postgres, [...firsts.values()])
      return messages.map(({ run }) => places.get(run.id) ?? null)
    } catch (error) {
      // Nobody tries again where it is not known whether they are there.
      if (sqlState(error) === null) throw error
      // One whose words cannot be stored must not keep the others out.
      log.debug({ error, messages: messages.length }, 'messages were not processed in a batch')
      return messages.map(() => null)
    }
  }),
})
