// The store behind OpenAI's POST /v1/responses, per API key: responses, their items, conversations, and what requests
// name of its files, containers and vector stores.
//
// Sources: openai 7.55.0 types (`store` is true unless it is said; `previous_response_id` and `conversation` exclude each
// other; items of a conversation come before the input and grow by it); @ai-sdk/openai 4.0.118, which names stored items by
// `item_reference`; issue trackers for the words of items that are not found. Unknown, so only guessed:
// - the words and param of files, containers, vector stores, skills and conversations that are not found (404 here), and
//   whether another account's is said otherwise than one that never was (the same here);
// - whether an item of a response that was deleted can still be named (not here);
// - what the model reads of a file or a store (here: all of its text).
import type { OpenAIError } from './rules.ts'
import { id } from '../delivery/plan.ts'
import { named, Shelf, type Name } from '../shelf.ts'
import type { Json, Kept } from '../vendor.ts'

export type Stored = { key: string; response: Json; input: Json[] }

/** Field → what it names. */
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
  readonly #responses = new Map<string, Stored>()
  readonly #conversations = new Map<string, { key: string; items: Json[] }>()

  constructor(key: string) {
    this.shelf = new Shelf(key, prefixes)
  }

  response(key: string, name: string): Stored | undefined {
    const stored = this.#responses.get(name)
    return stored?.key === key ? stored : undefined
  }

  forget(name: string): void {
    this.#responses.delete(name)
  }

  /** A response and its turn; a conversation grows by the turn even when the response is not stored. */
  add(key: string, body: Json, response: Json, input: Json[], given: Json[]): void {
    const output = response['output'] as Json[]
    if (body['store'] !== false) this.#responses.set(response['id'], { key, response, input: [...input, ...output] })
    this.#conversations.get(conversationOf(body) ?? '')?.items.push(...given, ...output)
  }

  converse(key: string, items: Json[], metadata: Json): Json {
    const name = id('conv_', 48)
    this.#conversations.set(name, { key, items: [...items] })
    return { id: name, object: 'conversation', created_at: 1_790_000_000, metadata }
  }

  /** The turns that a request builds on. */
  before(key: string, body: Json): { input: Json[] } | OpenAIError {
    const previous = body['previous_response_id'] as string | null | undefined
    const conversation = conversationOf(body)
    if (conversation !== undefined && typeof previous === 'string') {
      const message =
        "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them."
      return { status: 400, message, param: null, code: 'mutually_exclusive_parameters' }
    }
    if (conversation !== undefined) {
      const kept = this.#conversations.get(conversation)
      if (kept?.key === key) return { input: [...kept.items] }
      return { status: 404, message: `Conversation with id '${conversation}' not found.` }
    }
    if (previous === undefined || previous === null) return { input: [] }
    const stored = this.response(key, previous)
    if (stored) return { input: stored.input }
    const message = `Previous response with id '${previous}' not found.`
    return { status: 400, message, param: 'previous_response_id', code: 'previous_response_not_found' }
  }

  /** An item that this key has stored. */
  item(key: string, name: string): Json | undefined {
    for (const stored of this.#responses.values()) {
      const item = stored.key === key ? stored.input.find((one) => one['id'] === name) : undefined
      if (item) return item
    }
    return undefined
  }

  /** The input with every `item_reference` replaced by what it names. */
  resolve(key: string, body: Json, input: Json[]): { input: Json[] } | OpenAIError {
    const whole: Json[] = []
    for (const one of input) {
      const item = one['type'] === 'item_reference' ? this.item(key, one['id']) : one
      if (!item) return lost(one['id'], body)
      const known = item['id'] ?? undefined
      if (known !== undefined && whole.some((other) => other['id'] === known)) {
        const message = `Duplicate item found with id ${known}. Remove duplicate items from your input and try again.`
        return { status: 400, message, param: 'input' }
      }
      whole.push(item)
    }
    return { input: whole }
  }

  /** The files, containers and stores that a request names. */
  read(key: string, body: Json): { read: Kept[] } | OpenAIError {
    const looked = this.shelf.read(key, named({ input: body['input'], tools: body['tools'] }, kinds, data))
    return 'missing' in looked ? notFound(looked.missing) : looked
  }
}

/** An item that nobody stored, or not for this key. */
export function lost(name: string, body: Json): OpenAIError {
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
