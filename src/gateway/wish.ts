import type { Billing } from '#kernel/usage.ts'
import type { Offer } from './directory.ts'
import { guessInput } from './metering.ts'
import type { Wish } from './router.ts'
import { isObject } from './shapes/json.ts'

/** What a request asks of a model, as far as the router looks at it. */
export interface Sketch {
  tools: boolean
  images: boolean
  /** A fair guess; null: not known. */
  inputTokens: number | null
  maxTokens: number | null
}

/** A request's wish before any preference: made here for live calls and for `routing-preview`. */
export function wishFor(
  { tools, images, inputTokens, maxTokens }: Sketch,
  seed: number,
  serves: (offer: Offer) => boolean,
  guards: (billing: Billing) => boolean,
): Wish {
  return {
    seed,
    serves,
    guards,
    needs: [...(tools ? ['tools'] : []), ...(images ? ['vision'] : [])],
    ...(inputTokens !== null && { inputTokens }),
    ...(maxTokens !== null && { maxTokens }),
  }
}

export function sketchOf(json: Record<string, unknown>, limitFields: readonly string[]): Sketch {
  const limits = limitFields.map((field) => json[field]).filter((value) => typeof value === 'number')
  return {
    tools: Array.isArray(json.tools) && json.tools.length > 0,
    images: holdsImage(json.messages),
    inputTokens: guessInput(json),
    maxTokens: limits.length === 0 ? null : Math.max(...limits),
  }
}

function holdsImage(messages: unknown): boolean {
  if (!Array.isArray(messages)) return false
  return messages.some(
    (message: unknown) =>
      isObject(message) &&
      Array.isArray(message.content) &&
      message.content.some((part: unknown) => isObject(part) && (part.type === 'image_url' || part.type === 'image')),
  )
}
