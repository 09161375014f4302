import { refuse } from '#core/errors.ts'
import { openaiResponses, responsesCompact, responsesCount } from '../../passthrough/formats/openai-responses.ts'
import { ENVELOPE } from '../../wire/shared/envelope.ts'
import { decode } from '../../wire/openai-responses/decode.ts'
import { writeAnswer } from '../../wire/openai-responses/write-response.ts'
import { StreamWriter } from '../../wire/openai-responses/write-stream.ts'
import { lossOf } from '../../wire/parts/lost-parts.ts'
import type { Surface } from '../../request/surface.ts'
import { compatA } from './surface.ts'

export const compatAResponses: Surface = {
  ...compatA,
  routes: {
    '/responses': { POST: 'generate' },
    '/responses/input_tokens': { POST: 'count_tokens' },
    '/responses/*': { GET: 'stored', POST: 'stored', DELETE: 'stored' },
  },
  format: openaiResponses,
  shapes: ['openai-responses'],
  // Background responses couldn't be fetched here, and their cost would be unknown.
  foreign: (body) => body.includes(ENVELOPE) || body.value('background') === true,
  // A client with `store: false` sends everything again.
  keeps: (body) => body.value('store') !== false,
  usageOnRequest: false,
  closing: null,
  count: {
    format: responsesCount,
    write: (input_tokens) => ({ object: 'response.input_tokens', input_tokens }),
  },
  decode: (json) => ({ ...decode(json), includeUsage: true }),
  stream: (about) => new StreamWriter(about),
  whole: writeAnswer,
  // Images must be given as bytes.
  loses: (chunk) =>
    chunk.type === 'audio' || (chunk.type === 'image' && chunk.source.kind === 'url') ? lossOf(chunk.type) : null,
}

/** A compacted conversation is only readable by its own vendor: it passes unchanged, or not at all. */
export const compatACompact: Surface = {
  ...compatAResponses,
  routes: { [responsesCompact.path]: { POST: 'generate' } },
  format: responsesCompact,
  translates: false,
  count: null,
  decode: () =>
    refuse('invalid_parameter', {
      message:
        'Only the request’s own content can be compacted, without reasoning of another provider. Send the conversation as `input`.',
      param: 'input',
    }),
}
