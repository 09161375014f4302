import { uk } from '../../api.ts'
import type { Chat } from '../queries.ts'

/** A choice for the next answers of a chat: the model, the agent, the branch. */
export type Choice = { model?: string; agent_id?: string | null; head_message_id?: string }

/** The pending request of each chat's last choice. */
const underWay = new Map<string, Promise<Chat>>()

/** Resolves once everything chosen for this chat so far is in force at the server. Rejects if the last choice was refused. */
export async function whenChosen(chatId: string): Promise<void> {
  await underWay.get(chatId)
}

/**
 * Choices for one chat, which are shown before the server confirms them. Requests go one after the other, so that the last
 * choice is kept.
 */
export class Choices {
  readonly #chatId: string
  #pending: Choice = {}

  constructor(chatId: string) {
    this.#chatId = chatId
  }

  /** The row as it is shown: with what was chosen since it was read. */
  shownOf = (chat: Chat): Chat => ({ ...chat, ...this.#pending })

  /** Resolves with the row as the server has it; null: a later choice is still under way. */
  async choose(choice: Choice): Promise<Chat | null> {
    const before = underWay.get(this.#chatId)
    this.#pending = { ...this.#pending, ...choice }
    const request = Promise.resolve(before)
      .catch(() => {})
      .then(() => uk.chats.update({ id: this.#chatId, ...choice }))
    underWay.set(this.#chatId, request)
    try {
      const chat = await request
      return underWay.get(this.#chatId) === request ? chat : null
    } finally {
      if (underWay.get(this.#chatId) === request) {
        underWay.delete(this.#chatId)
        this.#pending = {}
      }
    }
  }

  /** The model for a message that is sent now. Waits for choices that a message can't carry itself. */
  async forMessage(): Promise<{ model?: string }> {
    const { model, ...others } = this.#pending
    if (Object.keys(others).length > 0) await whenChosen(this.#chatId)
    return model === undefined ? {} : { model }
  }
}
