import type { ListedEndpoint } from '#core/registry.ts'
import type { Row } from './view-input.ts'

/**
 * A note about a secret shown only once, with a command that uses it. Null without a secret. Printed only in a
 * terminal, where the secret is visible anyway.
 */
export function aboutSecret({ name }: ListedEndpoint, data: Row, origin: string): string | null {
  const text = (field: string): string | null =>
    typeof data[field] === 'string' && data[field] !== '' ? data[field] : null
  const once = "This is the only time it's shown. Store it somewhere safe."
  const key = text('key')
  if (name.startsWith('api_keys.') && key !== null)
    return `${once} Try it:\n\ncurl ${origin}/v1/me -H 'Authorization: Bearer ${key}'\n\nFor OpenAI clients: OPENAI_BASE_URL=${origin}/compat-a/v1`
  const token = text('token')
  if (name.startsWith('automations.') && token !== null)
    return `This is the only time the token and the secret are shown. To run the automation:\n\ncurl -X POST '${fireAt(data, origin)}' -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{}'`
  if (name.startsWith('computer_pairings.') && token !== null)
    return `${once} Run this on the other machine:\n\nuk computer pair --url ${origin}`
  if (text('secret') ?? token) return once
  return null
}

const fireAt = (data: Row, origin: string): string => {
  const { webhook } = data as { webhook?: { url?: string } }
  return webhook?.url ?? `${origin}/v1/automations/${String(data.id)}/fire`
}
