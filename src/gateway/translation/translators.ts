import { anthropicMessages } from '../passthrough/formats/anthropic-messages.ts'
import { openaiChat } from '../passthrough/formats/openai-chat.ts'
import { openaiResponses } from '../passthrough/formats/openai-responses.ts'
import type { Offer, Shape } from '../model/offer.ts'
import { encode as encodeAnthropic } from '../wire/anthropic-messages/encode/encode.ts'
import { readAnswer as readAnthropicAnswer } from '../wire/anthropic-messages/read/answer.ts'
import { StreamReader as AnthropicReader } from '../wire/anthropic-messages/read/stream.ts'
import { encode as encodeConverse } from '../wire/converse/encode.ts'
import { StreamReader as ConverseReader, readAnswer as readConverse } from '../wire/converse/read.ts'
import { encode as encodeGemini } from '../wire/gemini/encode.ts'
import { readAnswer as readGeminiAnswer } from '../wire/gemini/read-answer.ts'
import { StreamReader as GeminiReader } from '../wire/gemini/read-stream.ts'
import { encode as encodeOpenai } from '../wire/openai-chat/encode/encode.ts'
import { readAnswer as readOpenaiAnswer } from '../wire/openai-chat/read/answer.ts'
import { StreamReader as OpenaiReader } from '../wire/openai-chat/read/stream.ts'
import { encode as encodeResponses } from '../wire/openai-responses/encode.ts'
import { readAnswer as readResponse } from '../wire/openai-responses/read-answer.ts'
import { StreamReader as ResponsesReader } from '../wire/openai-responses/read-stream.ts'
import type { Encoded, Target } from '../wire/shared/target.ts'
import { usesConverse } from '../providers/supports.ts'
import type { Chunk, CanonicalRequest } from '../model/canonical-request.ts'
import { modelSegment } from '../wire/path-name.ts'

/** How requests to one API format are written, and its answers read. */
export interface Translator {
  path(model: string): string
  encode(canonical: CanonicalRequest, target: Target, how: { stream: boolean }): Encoded
  reader(): { feed(bytes: Uint8Array): Chunk[]; end(): Chunk[] }
  readAnswer(body: unknown): Chunk[]
}

const openai: Translator = {
  path: () => openaiChat.path,
  encode: encodeOpenai,
  reader: () => new OpenaiReader(),
  readAnswer: readOpenaiAnswer,
}
const translators: Partial<Record<Shape, Translator>> = {
  'openai-chat': openai,
  ollama: openai,
  'openai-responses': {
    path: () => openaiResponses.path,
    encode: encodeResponses,
    reader: () => new ResponsesReader(),
    readAnswer: readResponse,
  },
  'anthropic-messages': {
    path: () => anthropicMessages.path,
    encode: encodeAnthropic,
    reader: () => new AnthropicReader(),
    readAnswer: readAnthropicAnswer,
  },
  gemini: {
    path: (model) => `/models/${modelSegment(model)}:streamGenerateContent?alt=sse`,
    encode: encodeGemini,
    reader: () => new GeminiReader(),
    readAnswer: readGeminiAnswer,
  },
}

/** Bedrock's Converse, which no client's request reaches unchanged. */
const converse: Translator = {
  path: (model) => `/model/${modelSegment(model)}/converse-stream`,
  encode: encodeConverse,
  reader: () => new ConverseReader(),
  readAnswer: readConverse,
}

export const translatableShapes = Object.keys(translators) as Shape[]

/** Undefined: the offer's format can't be translated. */
export const translatorFor = (offer: Offer): Translator | undefined =>
  usesConverse(offer) ? converse : translators[offer.endpoint.shape]
