import { openaiChat } from '../../passthrough/formats/openai-chat.ts'
import { quirksFor } from '../../passthrough/adapted-body.ts'
import { decode } from '../../wire/openai-chat/decode/decode.ts'
import { isMixedBody } from '../../wire/openai-chat/decode/mixed.ts'
import { writeError } from '../../wire/openai-chat/write/errors.ts'
import { writeAnswer } from '../../wire/openai-chat/write/answer.ts'
import { StreamWriter, keepAlive } from '../../wire/openai-chat/write/stream.ts'
import { decode as decodeResponses } from '../../wire/openai-responses/decode.ts'
import { keepStatus } from '../keep-status.ts'
import type { Surface } from '../../request/surface.ts'
import { bareErrors } from './bare-errors.ts'
import { ollamaAnswers } from './ollama-answers.ts'
import { writeModel, writeModels } from './models.ts'

/** Some clients send Responses requests to this path and read Chat Completions back. */
const isResponses = (json: Record<string, unknown>): boolean => json.messages === undefined && json.input !== undefined

export const compatA: Surface = {
  name: 'compat-a',
  roots: ['/compat-a/v1', '/openai/v1'],
  routes: {
    '/chat/completions': { POST: 'generate' },
    '/models': { GET: 'models' },
    '/models/*': { GET: 'model' },
    '/videos': { POST: 'begin_video', GET: 'videos' },
    '/videos/*': { GET: 'videos', DELETE: 'videos' },
  },
  format: openaiChat,
  shapes: ['openai-chat', 'ollama'],
  translates: true,
  foreign: (body) => (!body.has('messages') && body.has('input')) || isMixedBody(body),
  usageOnRequest: true,
  closing: 'data: [DONE]\n\n',
  keepAlive: { text: keepAlive['compat-a'], everyMs: 10_000 },
  count: null,
  redraft: (about, offer) => (quirksFor(offer).ownAnswers ? ollamaAnswers(about) : bareErrors(about)),
  error: (failure) => keepStatus(writeError(failure, 'compat-a'), failure),
  decode: (json) => (isResponses(json) ? { ...decodeResponses(json), includeUsage: true } : decode(json)),
  stream: (about, includeUsage) => new StreamWriter(about, 'compat-a', includeUsage),
  whole: (answer, about) => writeAnswer(answer, about, 'compat-a'),
  models: writeModels,
  model: writeModel,
}
