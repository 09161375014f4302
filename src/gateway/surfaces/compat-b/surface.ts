import { refuse } from '#core/errors.ts'
import { anthropicCount, anthropicMessages } from '../../passthrough/formats/anthropic-messages.ts'
import { guessInput } from '../../model/cost/weigh.ts'
import { ENVELOPE } from '../../wire/shared/envelope.ts'
import { type AnthropicVersion, decode } from '../../wire/anthropic-messages/decode/decode.ts'
import { writeError } from '../../wire/anthropic-messages/write/errors.ts'
import { writeAnswer } from '../../wire/anthropic-messages/write/answer.ts'
import { StreamWriter, keepAlive } from '../../wire/anthropic-messages/write/stream.ts'
import { lossOf } from '../../wire/parts/lost-parts.ts'
import { keepStatus } from '../keep-status.ts'
import type { Surface } from '../../request/surface.ts'
import { writeModel, writeModels } from './models.ts'

export const compatB: Surface = {
  name: 'compat-b',
  roots: ['/compat-b/v1', '/anthropic/v1'],
  routes: {
    '/messages': { POST: 'generate' },
    '/messages/count_tokens': { POST: 'count_tokens' },
    '/models': { GET: 'models' },
    '/models/*': { GET: 'model' },
  },
  format: anthropicMessages,
  shapes: ['anthropic-messages'],
  translates: true,
  foreign: (body) => body.includes(ENVELOPE),
  usageOnRequest: false,
  closing: null,
  // Its clients ignore pings anywhere, even before `message_start`.
  keepAlive: { text: keepAlive, everyMs: 10_000 },
  refuseHead: (headers) => void versionOf(headers['anthropic-version']),
  count: { format: anthropicCount, write: (input_tokens) => ({ input_tokens }) },
  error: (failure, requestId) => keepStatus(writeError(failure, requestId), failure),
  decode: (json, headers) => ({ ...decode(json, versionOf(headers['anthropic-version'])), includeUsage: true }),
  stream: (about, _, requestId) => new StreamWriter(about, requestId, guessInput(about.request)),
  whole: writeAnswer,
  loses: ({ type }) => (type === 'image' || type === 'audio' ? lossOf(type) : null),
  models: writeModels,
  model: writeModel,
}

const VERSIONS = ['2023-06-01', '2026-10-21'] as const satisfies AnthropicVersion[]

function versionOf(header: unknown): AnthropicVersion {
  if (header === undefined) return '2023-06-01'
  return (
    VERSIONS.find((version) => version === header) ??
    refuse('invalid_parameter', {
      message: `anthropic-version: "${String(header)}" must be one of ${VERSIONS.join(', ')}`,
      param: 'anthropic-version',
    })
  )
}
