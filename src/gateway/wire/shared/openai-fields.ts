import type { CanonicalRequest } from '../../model/canonical-request.ts'
import { compact, isObject, type Json } from '../../model/json.ts'
import { type Losses, matters } from './losses.ts'
import { object, string } from './request-fields.ts'

const further = ['metadata', 'prompt_cache_options', 'prompt_cache_retention'] as const
export type Further = (typeof further)[number]

const usual: Partial<Record<Further, (value: unknown) => boolean>> = {
  prompt_cache_options: (value) => isObject(value) && value['mode'] === 'implicit' && Object.keys(value).length === 1,
  prompt_cache_retention: (value) => value === 'in_memory',
}

export const openaiFields = (
  body: Json,
): Pick<CanonicalRequest, 'cache_key' | 'metadata' | 'prompt_cache_options' | 'prompt_cache_retention'> =>
  compact({
    cache_key: string(body['prompt_cache_key'], 'prompt_cache_key'),
    metadata: object(body['metadata'], 'metadata'),
    prompt_cache_options: object(body['prompt_cache_options'], 'prompt_cache_options'),
    prompt_cache_retention: string(body['prompt_cache_retention'], 'prompt_cache_retention'),
  })

export const sendFurther = (canonical: CanonicalRequest, names: readonly Further[]): Json =>
  Object.fromEntries(names.map((name) => [name, canonical[name]]))

export function loseFurther(canonical: CanonicalRequest, losses: Losses, supported: readonly Further[] = []): void {
  for (const name of further)
    if (!supported.includes(name) && matters(canonical[name]) && !usual[name]?.(canonical[name])) losses.add(name)
}

export function loseNames({ messages }: CanonicalRequest, losses: Losses): void {
  if (messages.some(({ name }) => matters(name))) losses.add('messages.name')
}

export function loseDetail({ messages }: CanonicalRequest, losses: Losses): void {
  const hasDetail = messages.some(({ content }) =>
    content
      .flatMap((part) => (part.type === 'tool_result' ? part.content : [part]))
      .some((part) => part.type === 'image' && part.detail !== undefined && part.detail !== 'auto'),
  )
  if (hasDetail) losses.add('messages.image.detail')
}

/** Prefers the newer of the two fields; a different older value is lost. */
export function userOf(body: Json, losses: Losses): string | undefined {
  const identifier = string(body['safety_identifier'], 'safety_identifier')
  const user = string(body['user'], 'user')
  if (identifier !== undefined && matters(user) && user !== identifier) losses.add('user')
  return identifier ?? user
}

export const describedSchema = (schema: object, description: string | undefined): object =>
  matters(description) && !('description' in schema) ? { description, ...schema } : schema
