import { openaiResponses, responsesCount } from '../../dialects/openai-responses.ts'
import { ENVELOPE } from '../../shapes/envelope.ts'
import { decode } from '../../shapes/openai-responses/decode.ts'
import { writeAnswer } from '../../shapes/openai-responses/write-response.ts'
import { StreamWriter } from '../../shapes/openai-responses/write-stream.ts'
import type { Surface } from '../surface.ts'
import { compatA } from './surface.ts'

/** OpenAI's Responses API, under the same roots and with the same errors. Nothing that it answers is stored here. */
export const compatAResponses: Surface = {
  ...compatA,
  routes: { '/responses': { POST: 'generate' }, '/responses/input_tokens': { POST: 'count_tokens' } },
  dialect: openaiResponses,
  shapes: ['openai-responses'],
  foreign: ({ source }) => source.includes(ENVELOPE),
  usageOnRequest: false,
  closing: null,
  count: {
    dialect: responsesCount,
    write: (input_tokens) => ({ object: 'response.input_tokens', input_tokens }),
  },
  decode: (json) => ({ ...decode(json), includeUsage: true }),
  stream: (about) => new StreamWriter(about),
  whole: writeAnswer,
}
