import { compatAPassed } from '../compat-a/passthrough.ts'
import { compatAResponses } from '../compat-a/responses.ts'
import { compatB } from '../compat-b/surface.ts'
import type { Surface } from '../../request/surface.ts'
import { readRouting } from './demands.ts'
import { compatC } from './surface.ts'

const { name, roots, error } = compatC
const embeddings = compatAPassed.find(({ routes }) => '/embeddings' in routes)!

/**
 * openrouter.ai/docs/api. Embeddings have OpenRouter's errors, Responses and Messages those of their vendors. All
 * accept provider preferences.
 */
export const compatCFurther: readonly Surface[] = [
  { ...embeddings, name, roots, error, demands: readRouting },
  {
    ...compatAResponses,
    name,
    roots,
    routes: { '/responses': { POST: 'generate' } },
    demands: readRouting,
  },
  {
    ...compatB,
    name,
    roots,
    routes: { '/messages': { POST: 'generate' }, '/messages/count_tokens': { POST: 'count_tokens' } },
    demands: readRouting,
  },
]
