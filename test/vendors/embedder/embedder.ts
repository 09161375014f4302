// Embedding models in the shapes of OpenAI, Google, and Ollama: words of one subject point the same way. This list is
// all they know of meaning.
import { type Json, type Vendor } from '../vendor.ts'
import type { Answer } from '../delivery/deliver.ts'
import { type Call, serve } from '../server.ts'

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
    answer: (call: Call): Answer => {
      const { path, request } = call
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
      return openaiShaped(call)
    },
    failure: ({ status }) => ({ status, body: { error: { message: 'overloaded', type: 'server_error' } } }),
    headers: () => ({}),
  })

function openaiShaped({ method, path, request }: Call): Answer {
  if (method !== 'POST' || path !== '/v1/embeddings') return { status: 404, body: { error: { message: 'no' } } }
  const { input, model, encoding_format }: Json = request.json()
  if (!Array.isArray(input) || encoding_format !== 'float') return { status: 400, body: { error: { message: 'no' } } }
  const data = input.map((text: string, index) => ({ object: 'embedding', index, embedding: vectorOf(text) }))
  const tokens = input.reduce((sum: number, text: string) => sum + text.split(/\s+/).length, 0)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return { status: 200, body: { object: 'list', data: data.toReversed(), model, usage } }
}

/**
 * Google's, base `<origin>/v1beta`, model `gemini-embedding-001` (ai.google.dev/api/embeddings: up to 100 texts, no
 * usage).
 */
export const startGeminiEmbedder = (): Promise<Vendor> =>
  serve({
    key: 'AIza-embed',
    answer: ({ method, path, request }: Call): Answer => {
      const problem = (status: number, word: string): Answer => ({
        status,
        body: { error: { code: status, message: word, status: word } },
      })
      if (request.headers['x-goog-api-key'] !== 'AIza-embed') return problem(403, 'PERMISSION_DENIED')
      const name = 'models/gemini-embedding-001'
      if (method === 'GET' && path === '/v1beta/models')
        return {
          status: 200,
          body: {
            models: [
              {
                name,
                displayName: 'E',
                inputTokenLimit: 2048,
                supportedGenerationMethods: ['embedContent', 'batchEmbedContents'],
              },
            ],
          },
        }
      if (method !== 'POST' || path !== `/v1beta/${name}:batchEmbedContents`) return problem(404, 'NOT_FOUND')
      const { requests }: Json = request.json()
      if (!Array.isArray(requests) || requests.length > 100 || requests.some((one: Json) => one.model !== name))
        return problem(400, 'INVALID_ARGUMENT')
      const words = (one: Json) => one.content.parts.map(({ text }: Json) => text).join('')
      return { status: 200, body: { embeddings: requests.map((one) => ({ values: vectorOf(words(one)) })) } }
    },
    failure: ({ status }) => ({ status, body: { error: { code: status, message: 'no', status: 'UNAVAILABLE' } } }),
    headers: () => ({}),
  })

/** An Ollama with one embedding model, `all-minilm:latest`, and without a key. */
export const startOllamaEmbedder = (): Promise<Vendor> =>
  serve({
    key: '',
    answer: (call: Call): Answer => {
      const name = 'all-minilm:latest'
      if (call.path === '/api/version') return { status: 200, body: { version: '0.24.0' } }
      if (call.path === '/api/tags') return { status: 200, body: { models: [{ name, model: name }] } }
      if (call.path === '/api/show') return { status: 200, body: { capabilities: ['embedding'], model_info: {} } }
      return openaiShaped(call)
    },
    failure: ({ status }) => ({ status, body: { error: 'no' } }),
    headers: () => ({}),
  })

function vectorOf(text: string): number[] {
  const words = text.toLowerCase().split(/\W+/)
  const about = subjects.map((subject) => words.filter((word) => subject.some((one) => word.startsWith(one))).length)
  // Each subject has a fourth of the dimensions; the rest is a little noise from the text.
  return Array.from({ length: SIZE }, (_, i) => about[i % 4]! * 3 - 0.5 + ((text.length * (i + 3)) % 7) / 20)
}
