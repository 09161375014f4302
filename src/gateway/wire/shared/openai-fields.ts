import type { CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, isObject, type Json } from '../../model/json.ts'
import { type Losses, matters } from './losses.ts'
import { object, string } from './request-fields.ts'

const further = ['metadata', 'prompt_cache_options', 'prompt_cache_retention'] as const
export type Further = (typeof further)[number]

/** Values that ask for what happens without the field. */
const usual: Partial<Record<Further, (value: unknown) => boolean>> = {
  prompt_cache_options: (value) => isObject(value) && value['mode'] === 'implicit' && Object.keys(value).length === 1,
  prompt_cache_retention: (value) => value === 'in_memory',
}

/** Fields of both of OpenAI's APIs about the prompt's cache and the vendor's records. */
export const openaiFields = (
  body: Json,
): Pick<CanonicalRequest, 'cache_key' | 'metadata' | 'prompt_cache_options' | 'prompt_cache_retention'> =>
  compact({
    cache_key: string(body['prompt_cache_key'], 'prompt_cache_key'),
    metadata: object(body['metadata'], 'metadata'),
    prompt_cache_options: object(body['prompt_cache_options'], 'prompt_cache_options'),
    prompt_cache_retention: string(body['prompt_cache_retention'], 'prompt_cache_retention'),
  })

/** The fields of these names, to be sent as they came. */
export const sendFurther = (canonical: CanonicalRequest, names: readonly Further[]): Json =>
  Object.fromEntries(names.map((name) => [name, canonical[name]]))

/** Names the fields that a vendor has no place for: all but those in `sent`. */
export function loseFurther(canonical: CanonicalRequest, losses: Losses, sent: readonly Further[] = []): void {
  for (const name of further)
    if (!sent.includes(name) && matters(canonical[name]) && !usual[name]?.(canonical[name])) losses.add(name)
}

/** Names the messages' `name` for shapes without it. */
export function loseNames({ messages }: CanonicalRequest, losses: Losses): void {
  if (messages.some(({ name }) => matters(name))) losses.add('messages.name')
}

/** Names a picture's `detail` for shapes without it. */
export function loseDetail({ messages }: CanonicalRequest, losses: Losses): void {
  const hasDetail = messages.some(({ content }) =>
    content
      .flatMap((part) => (part.type === 'tool_result' ? part.content : [part]))
      .some((part) => part.type === 'image' && part.detail !== undefined && part.detail !== 'auto'),
  )
  if (hasDetail) losses.add('messages.image.detail')
}

/** The end user, by the newer of the two names. One of two different values can't be sent. */
export function userOf(body: Json, losses: Losses): string | undefined {
  const identifier = string(body['safety_identifier'], 'safety_identifier')
  const user = string(body['user'], 'user')
  if (identifier !== undefined && matters(user) && user !== identifier) losses.add('user')
  return identifier ?? user
}

/** The schema of an answer with the description that stood beside it. */
export const describedSchema = (schema: object, description: string | undefined): object =>
  matters(description) && !('description' in schema) ? { description, ...schema } : schema
