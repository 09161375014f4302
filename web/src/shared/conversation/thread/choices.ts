import { uk } from '../../api.ts'
import type { Chat } from '../queries.ts'

/** A setting for the next responses of a chat: model, agent or branch. */
export type Choice = { model?: string; agent_id?: string | null; head_message_id?: string }

const underWay = new Map<string, Promise<Chat>>()

/** Resolves once the server applied all choices for this chat. Rejects with the error of the last one. */
export async function whenChosen(chatId: string): Promise<void> {
  await underWay.get(chatId)
}

/** Optimistic choices for a chat. Requests run in sequence, so that the last choice wins. */
export class Choices {
  readonly #chatId: string
  #pending: Choice = {}

  constructor(chatId: string) {
    this.#chatId = chatId
  }

  /** The row with the choices made since it was read. */
  shownOf = (chat: Chat): Chat => ({ ...chat, ...this.#pending })

  /** Resolves with the server's row; null: a later choice is pending. */
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

  /** The model for a message sent now. Waits for choices that a message can't carry itself. */
  async forMessage(): Promise<{ model?: string }> {
    const { model, ...others } = this.#pending
    if (Object.keys(others).length > 0) await whenChosen(this.#chatId)
    return model === undefined ? {} : { model }
  }
}
