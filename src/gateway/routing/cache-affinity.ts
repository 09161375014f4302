import { hash } from 'node:crypto'
import type { Id } from '#core/ids.ts'
import type { Usage } from '#core/usage.ts'
import type { Offer } from '../model/offer.ts'
import { isObject } from '../model/json.ts'

const REMEMBERED = 20_000
/** Anthropic keeps a prompt for 5 minutes after its last use or, where that is asked for, for an hour; others about as long. */
const USUAL_MS = 5 * 60_000
const LONG_MS = 60 * 60_000

/**
 * Which endpoint holds a conversation's prompt in its cache, so that the next turn is asked there, where it is cheaper.
 * In this process's memory: with two processes a conversation may warm one endpoint for each of them, which costs one
 * more cache write and nothing else. The conversation that was not heard of for longest is forgotten first.
 */
export class CacheAffinity {
  readonly #held = new Map<string, { endpointId: Id; until: number }>()

  /** The endpoint, or null. */
  of(conversation: string, now: number = performance.now()): Id | null {
    const held = this.#held.get(conversation)
    return held !== undefined && held.until > now ? held.endpointId : null
  }

  /** After an answer: with cache usage it is remembered, slid on with each; without, nobody holds it. */
  note(conversation: string, { endpoint, pricing }: Offer, usage: Usage, now: number = performance.now()): void {
    const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
    const cheaper = pricing?.cache_read === undefined || Number(pricing.cache_read) < Number(pricing.input)
    if (usage.cache_read_tokens + written === 0 || !cheaper) return
    this.#held.delete(conversation)
    const life = usage.cache_write_1h_tokens > 0 ? LONG_MS : USUAL_MS
    this.#held.set(conversation, { endpointId: endpoint.id, until: now + life })
    if (this.#held.size > REMEMBERED) this.#held.delete(this.#held.keys().next().value!)
  }

  /** The endpoint failed: the next turn goes wherever is best. */
  forget(conversation: string): void {
    this.#held.delete(conversation)
  }
}

/** A body of any surface, or a CanonicalRequest. */
interface Told {
  session_id?: unknown
  prompt_cache_key?: unknown
  system?: unknown
  instructions?: unknown
  messages?: unknown
  input?: unknown
}

/**
 * The key that tells a caller's conversations apart: the name that the client gives it, else its beginning, which later turns
 * repeat. Callers never share one.
 */
export function conversationOf(caller: Id, json: Told, session: unknown): string | null {
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
