// Ollama's vectors in its own API and in OpenAI's.
import { tokens } from '../delivery/plan.ts'
import type { Whole } from '../delivery/deliver.ts'
import { vectorOf } from '../embedder/embedding.ts'
import type { Json } from '../vendor.ts'

const SIZE = 384

export function embeddings(
  { model, dimensions, encoding_format: format }: Json,
  texts: string[],
  compat: boolean,
): Whole {
  const vectors = texts.map((text) => vectorOf(text, Math.min(dimensions || SIZE, SIZE)))
  const count = texts.reduce((sum, text) => sum + tokens(text).length, 0)
  if (!compat) {
    const body = { model, embeddings: vectors.map((vector) => [...vector]), prompt_eval_count: count }
    return { status: 200, body: { ...body, total_duration: 14_143_917, load_duration: 1_019_500 } }
  }
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    embedding: format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector],
    index,
  }))
  return { status: 200, body: { object: 'list', data, model, usage: { prompt_tokens: count, total_tokens: count } } }
}
