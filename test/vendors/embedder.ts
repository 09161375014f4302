// A model that embeds, behind OpenAI's shape: words of one subject point one way. What it knows of meaning is this list.
import { type Json, type Vendor } from './vendor.ts'
import type { Answer } from './deliver.ts'
import { type Call, serve } from './server.ts'

const subjects = [
  ['cat', 'feline', 'kitten', 'purr', 'whiskers'],
  ['money', 'invoice', 'payment', 'bank', 'cash', 'owed'],
  ['rain', 'storm', 'weather', 'cloud', 'umbrella'],
  ['bread', 'oven', 'baking', 'dough', 'loaf'],
]
const SIZE = 64

/** Base: `<origin>/v1`. Model `text-embedding-3-small`. */
export const startEmbedder = (): Promise<Vendor> =>
  serve({
    key: 'sk-embed',
    answer: ({ method, path, request }: Call): Answer => {
      if (request.headers.authorization !== 'Bearer sk-embed')
        return { status: 401, body: { error: { message: 'no', type: 'invalid_request_error' } } }
      if (path === '/v1/models')
        return {
          status: 200,
          body: {
            object: 'list',
            data: [{ id: 'text-embedding-3-small', object: 'model', created: 1, owned_by: 'x' }],
          },
        }
      if (method !== 'POST' || path !== '/v1/embeddings') return { status: 404, body: { error: { message: 'no' } } }
      const { input, model, encoding_format }: Json = request.json()
      if (!Array.isArray(input) || encoding_format !== 'float')
        return { status: 400, body: { error: { message: 'no' } } }
      const data = input.map((text: string, index) => ({ object: 'embedding', index, embedding: vectorOf(text) }))
      const tokens = input.reduce((sum: number, text: string) => sum + text.split(/\s+/).length, 0)
      return {
        status: 200,
        body: {
          object: 'list',
          data: data.toReversed(),
          model,
          usage: { prompt_tokens: tokens, total_tokens: tokens },
        },
      }
    },
    failure: ({ status }) => ({ status, body: { error: { message: 'overloaded', type: 'server_error' } } }),
    headers: () => ({}),
  })

function vectorOf(text: string): number[] {
  const words = text.toLowerCase().split(/\W+/)
  const about = subjects.map((subject) => words.filter((word) => subject.some((one) => word.startsWith(one))).length)
  // Each subject has a fourth of the places; the rest is a little noise that depends on the text.
  return Array.from({ length: SIZE }, (_, i) => about[i % 4]! * 3 - 0.5 + ((text.length * (i + 3)) % 7) / 20)
}
