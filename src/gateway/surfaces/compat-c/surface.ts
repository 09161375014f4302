import { openaiChat } from '../../passthrough/formats/openai-chat.ts'
import type { ErrorAnswer } from '../../wire/problem.ts'
import { decode } from '../../wire/openai-chat/decode/decode.ts'
import { isMixedBody } from '../../wire/openai-chat/decode/mixed.ts'
import { writeError } from '../../wire/openai-chat/write/errors.ts'
import { objectOf } from '../../model/json.ts'
import { answerId, writeAnswer } from '../../wire/openai-chat/write/answer.ts'
import { StreamWriter, keepAlive } from '../../wire/openai-chat/write/stream.ts'
import { keepStatus } from '../keep-status.ts'
import type { Surface } from '../../request/surface.ts'
import { accountReads } from './account.ts'
import { chat, readDemands } from './demands.ts'
import { redraft } from './redraft.ts'
import { writeModel, writeModels } from './models.ts'

export const compatC: Surface = {
  name: 'compat-c',
  roots: ['/compat-c/v1', '/compat-c/api/v1', '/openrouter/v1', '/openrouter/api/v1'],
  routes: {
    '/chat/completions': { POST: 'generate' },
    '/models': { GET: 'models' },
    '/models/*': { GET: 'model_or_endpoints' },
    ...Object.fromEntries(Object.keys(accountReads).map((path) => [path, { GET: 'account' as const }])),
  },
  format: openaiChat,
  ...chat,
  translates: true,
  foreign: isMixedBody,
  usageOnRequest: false,
  closing: 'data: [DONE]\n\n',
  count: null,
  demands: readDemands,
  redraft,
  head: (id) => ['x-generation-id', answerId(id, 'compat-c')],
  keepAlive: { text: keepAlive['compat-c'], everyMs: 5_000 },
  error: (failure) => sameCode(keepStatus(writeError(failure, 'compat-c'), failure)),
  decode,
  stream: (about) => new StreamWriter(about, 'compat-c', true),
  whole: (answer, about) => writeAnswer(answer, about, 'compat-c'),
  models: writeModels,
  model: (row) => ({ data: writeModel(row) }),
}

/** The body's code is the status as an integer: strict clients fail on anything else. */
function sameCode(answer: ErrorAnswer): ErrorAnswer {
  const { error } = answer.body as { error: unknown }
  return { ...answer, body: { ...answer.body, error: { ...objectOf(error), code: answer.status } } }
}
