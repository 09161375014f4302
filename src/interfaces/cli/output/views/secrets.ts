import type { ListedEndpoint } from '#core/registry.ts'
import type { Row } from './seen.ts'

/**
 * The words about a secret that is shown only this once, with a line that uses it. Null where the answer holds none.
 * The words are for a terminal, where the secret stands anyway.
 */
export function aboutSecret({ name }: ListedEndpoint, data: Row, origin: string): string | null {
  const text = (field: string): string | null =>
    typeof data[field] === 'string' && data[field] !== '' ? data[field] : null
  const once = 'It is shown this once: keep it where only you can read it.'
  const key = text('key')
  if (name.startsWith('api_keys.') && key !== null)
    return `${once} To try it:\n\ncurl ${origin}/v1/me -H 'Authorization: Bearer ${key}'\n\nFor clients of OpenAI: OPENAI_BASE_URL=${origin}/compat-a/v1`
  const token = text('token')
  if (name.startsWith('automations.') && token !== null)
    return `The token and the secret are shown this once. To fire it:\n\ncurl -X POST '${fireAt(data, origin)}' -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{}'`
  if (name.startsWith('computer_pairings.') && token !== null)
    return `${once} On the other machine:\n\nuk computer pair --url ${origin}`
  if (text('secret') ?? token) return once
  return null
}

const fireAt = (data: Row, origin: string): string => {
  const { webhook } = data as { webhook?: { url?: string } }
  return webhook?.url ?? `${origin}/v1/automations/${String(data.id)}/fire`
}
