import { z } from 'zod'
import type { Shape } from '../model/offer.ts'
import { modelSegment } from './path-name.ts'

export interface EmbeddingWire {
  path(model: string): string
  body(model: string, texts: readonly string[]): unknown
  /** `tokens` is null if the provider doesn't report them. Null: not an embedding response. */
  read(answer: unknown, count: number): { vectors: number[][]; tokens: number | null } | null
}

const vector = z.array(z.number()).min(1)
const tokens = z.number().int().nonnegative().optional()

/** platform.openai.com/docs/api-reference/embeddings; also spoken by Ollama and most others. */
const OpenaiAnswer = z.object({
  // Some providers always answer in base64.
  data: z.array(
    z.object({ index: z.number().int(), embedding: vector.or(z.string().transform(vectorOfText).pipe(vector)) }),
  ),
  usage: z.object({ prompt_tokens: tokens, total_tokens: tokens }).nullish(),
})
const openai: EmbeddingWire = {
  path: () => '/embeddings',
  body: (model, texts) => ({ model, input: texts, encoding_format: 'float' }),
  read(answer, count) {
    const { data } = OpenaiAnswer.safeParse(answer)
    const byIndex = new Map(data?.data.map(({ index, embedding }) => [index, embedding]))
    const vectors = Array.from({ length: count }, (_, i) => byIndex.get(i))
    if (data === undefined || !vectors.every((one) => one !== undefined)) return null
    return { vectors, tokens: data.usage?.prompt_tokens ?? data.usage?.total_tokens ?? null }
  },
}

/** models.batchEmbedContents: up to 100 texts (ai.google.dev/api/embeddings). */
const GeminiAnswer = z.object({
  embeddings: z.array(z.object({ values: vector })),
  usageMetadata: z.object({ promptTokenCount: tokens }).nullish(),
})
const gemini: EmbeddingWire = {
  path: (model) => `/models/${modelSegment(model)}:batchEmbedContents`,
  body: (model, texts) => ({
    requests: texts.map((text) => ({ model: `models/${model}`, content: { parts: [{ text }] } })),
  }),
  read(answer, count) {
    const { data } = GeminiAnswer.safeParse(answer)
    if (data?.embeddings.length !== count) return null
    return {
      vectors: data.embeddings.map(({ values }) => values),
      tokens: data.usageMetadata?.promptTokenCount ?? null,
    }
  },
}

const wires: Partial<Record<Shape, EmbeddingWire>> = {
  gemini,
  'openai-chat': openai,
  'openai-responses': openai,
  ollama: openai,
}

export const embeddingWireOf = (shape: Shape): EmbeddingWire | null => wires[shape] ?? null

/** Little-endian 32-bit floats. */
export function textOfVector(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(value, i * 4)
  return bytes.toString('base64')
}

export function vectorOfText(text: string): number[] | null {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === 0 || bytes.length % 4 !== 0) return null
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4))
}
