import { hash } from 'node:crypto'
import type { Id } from '#core/ids.ts'
import type { Usage } from '#core/usage.ts'
import type { Offer } from '../model/offer.ts'
import { isObject } from '../model/json.ts'

const REMEMBERED = 20_000
/**
 * Anthropic caches a prompt for 5 minutes after its last use, or for an hour on request; other vendors about as long.
 */
const USUAL_MS = 5 * 60_000
const LONG_MS = 60 * 60_000

/**
 * The next turn is cheaper where the prompt is cached. In this process's memory: two processes may warm two endpoints
 * for a conversation, which only costs another cache write.
 */
export class CacheAffinity {
  readonly #held = new Map<string, { endpointId: Id; until: number }>()

  of(conversation: string, now: number = performance.now()): Id | null {
    const entry = this.#held.get(conversation)
    return entry !== undefined && entry.until > now ? entry.endpointId : null
  }

  /** An answer without cache usage drops the conversation. */
  note(conversation: string, { endpoint, pricing }: Offer, usage: Usage, now: number = performance.now()): void {
    const cacheWrites = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    const cheaper = pricing?.cache_read === undefined || Number(pricing.cache_read) < Number(pricing.input)
    if (usage.cache_read_tokens + cacheWrites === 0 || !cheaper) return
    this.#held.delete(conversation)
    const life = usage.cache_write_1h_tokens > 0 ? LONG_MS : USUAL_MS
    this.#held.set(conversation, { endpointId: endpoint.id, until: now + life })
    if (this.#held.size > REMEMBERED) this.#held.delete(this.#held.keys().next().value!)
  }

  forget(conversation: string): void {
    this.#held.delete(conversation)
  }
}

interface Conversation {
  session_id?: unknown
  prompt_cache_key?: unknown
  system?: unknown
  instructions?: unknown
  messages?: unknown
  input?: unknown
}

/**
 * The client's name for the conversation, or else its beginning, which later turns repeat. Callers never share a key.
 */
export function conversationOf(caller: Id, json: Conversation, session: unknown): string | null {
  for (const name of [json.session_id, session, json.prompt_cache_key])
    if (typeof name === 'string' && name !== '') return `${caller} ${digest(name)}`
  const { system, instructions, messages = json.input } = json
  if (!Array.isArray(messages)) return null
  const isSystem = (message: unknown): boolean =>
    isObject(message) && (message['role'] === 'system' || message['role'] === 'developer')
  const beginning = [system ?? instructions, messages.find(isSystem), messages.find((message) => !isSystem(message))]
  return `${caller} ${digest(JSON.stringify(beginning))}`
}

const digest = (words: string): string => hash('sha256', words, 'base64url').slice(0, 22)
