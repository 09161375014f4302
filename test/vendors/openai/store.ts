// The store behind OpenAI's POST /v1/responses, per API key: responses, their items, conversations, and referenced
// files, containers, and vector stores.
//
// Sources: openai 7.55.0 types (`store` defaults to true; `previous_response_id` and `conversation` exclude each other;
// items of a conversation come before the input and grow by it); @ai-sdk/openai 4.0.118, which refers to stored items
// by `item_reference`; issue trackers for the words of missing items.
//
// Unknown, so only guessed:
// - the words and param of missing files, containers, vector stores, skills, and conversations (404 here), and whether
//   another account's differs from one that never existed (the same here)
// - whether an item of a deleted response can still be referenced (not here)
// - what the model reads from a file or a store (here: all of its text)
import type { OpenAIError } from './rules.ts'
import { id } from '../delivery/plan.ts'
import { referencesIn, Shelf, type Name } from '../shelf.ts'
import type { Json, StoredObject } from '../vendor.ts'

export type StoredResponse = { key: string; response: Json; input: Json[] }

/** Field → what it refers to. */
const kinds: Record<string, string> = {
  file_id: 'file',
  file_ids: 'file',
  vector_store_ids: 'vector_store',
  container: 'container',
  container_id: 'container',
  skill_id: 'skill',
}
/** Data of the caller or of the model, where such a name means nothing. */
const data = new Set(['parameters', 'schema', 'arguments', 'annotations', 'metadata', 'results', 'outputs'])

const prefixes = { file: 'file-', vector_store: 'vs_', container: 'cntr_', skill: 'skill_' }

export class OpenAIStore {
  readonly shelf: Shelf
  readonly #responses = new Map<string, StoredResponse>()
  readonly #conversations = new Map<string, { key: string; items: Json[] }>()

  constructor(key: string) {
    this.shelf = new Shelf(key, prefixes)
  }

  response(key: string, name: string): StoredResponse | undefined {
    const entry = this.#responses.get(name)
    return entry?.key === key ? entry : undefined
  }

  forget(name: string): void {
    this.#responses.delete(name)
  }

  /** Stores a response and its turn; a conversation grows by the turn even if the response isn't stored. */
  add(key: string, body: Json, response: Json, input: Json[], newItems: Json[]): void {
    const output = response['output'] as Json[]
    if (body['store'] !== false) this.#responses.set(response['id'], { key, response, input: [...input, ...output] })
    this.#conversations.get(conversationOf(body) ?? '')?.items.push(...newItems, ...output)
  }

  converse(key: string, items: Json[], metadata: Json): Json {
    const name = id('conv_', 48)
    this.#conversations.set(name, { key, items: [...items] })
    return { id: name, object: 'conversation', created_at: 1_790_000_000, metadata }
  }

  /** The turns that a request continues. */
  before(key: string, body: Json): { input: Json[] } | OpenAIError {
    const previous = body['previous_response_id'] as string | null | undefined
    const conversation = conversationOf(body)
    if (conversation !== undefined && typeof previous === 'string') {
      const message =
        "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them."
      return { status: 400, message, param: null, code: 'mutually_exclusive_parameters' }
    }
    if (conversation !== undefined) {
      const conversationItems = this.#conversations.get(conversation)
      if (conversationItems?.key === key) return { input: [...conversationItems.items] }
      return { status: 404, message: `Conversation with id '${conversation}' not found.` }
    }
    if (previous === undefined || previous === null) return { input: [] }
    const entry = this.response(key, previous)
    if (entry) return { input: entry.input }
    const message = `Previous response with id '${previous}' not found.`
    return { status: 400, message, param: 'previous_response_id', code: 'previous_response_not_found' }
  }

  /** An item that this key has stored. */
  item(key: string, name: string): Json | undefined {
    for (const entry of this.#responses.values()) {
      const item = entry.key === key ? entry.input.find((one) => one['id'] === name) : undefined
      if (item) return item
    }
    return undefined
  }

  /** The input with every `item_reference` replaced by its item. */
  resolve(key: string, body: Json, input: Json[]): { input: Json[] } | OpenAIError {
    const whole: Json[] = []
    for (const one of input) {
      const item = one['type'] === 'item_reference' ? this.item(key, one['id']) : one
      if (!item) return notFoundError(one['id'], body)
      const itemId = item['id'] ?? undefined
      if (itemId !== undefined && whole.some((other) => other['id'] === itemId)) {
        const message = `Duplicate item found with id ${itemId}. Remove duplicate items from your input and try again.`
        return { status: 400, message, param: 'input' }
      }
      whole.push(item)
    }
    return { input: whole }
  }

  /** The files, containers, and stores that a request refers to. */
  read(key: string, body: Json): { read: StoredObject[] } | OpenAIError {
    const lookup = this.shelf.read(key, referencesIn({ input: body['input'], tools: body['tools'] }, kinds, data))
    return 'missing' in lookup ? notFound(lookup.missing) : lookup
  }
}

/** An item that isn't stored, or not for this key. */
export function notFoundError(name: string, body: Json): OpenAIError {
  const why =
    body['store'] === false
      ? ' Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.'
      : ''
  return { status: 404, message: `Item with id '${name}' not found.${why}`, param: 'input' }
}

function notFound({ kind, id: name, path }: Name): OpenAIError {
  const messages: Record<string, string> = {
    file: `Files [${name}] were not found`,
    vector_store: `Vector store with id [${name}] not found.`,
    container: `Container with id '${name}' not found.`,
  }
  return { status: 404, message: messages[kind] ?? `No such ${kind}: '${name}'`, param: path }
}

function conversationOf({ conversation }: Json): string | undefined {
  if (typeof conversation === 'string') return conversation
  return typeof conversation === 'object' && conversation !== null ? (conversation.id as string) : undefined
}
