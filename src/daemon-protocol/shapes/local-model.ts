import { z } from 'zod'
import { plain } from './text.ts'

/** The number of models that fit into one message. */
export const MAX_MODELS = 200

export const engineName = z.enum(['llama', 'sherpa', 'ollama'])

const LocalModel = z.object({
  name: plain(200).min(1),
  engine: engineName,
  size_bytes: z.number().int().min(0),
  digest: plain(100).nullable(),
  context_length: z.number().int().min(0).max(2_147_483_647).nullable().describe('The context size in tokens.'),
  quantization: plain(50).nullable(),
  status: z.enum(['installing', 'ready', 'broken']),
  loaded: z.boolean(),
  embeds: z.boolean().describe('Whether it creates embeddings instead of text.'),
})

/** Skips invalid rows, so a model with an odd file doesn't hide the others. */
export const LocalModels = z.preprocess(
  (rows) => (Array.isArray(rows) ? rows.filter((row) => LocalModel.safeParse(row).success) : rows),
  z.array(LocalModel).max(MAX_MODELS),
)
