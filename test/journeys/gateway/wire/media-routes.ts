/** The compat-a routes that can stream events of images, audio, or text, with answers of two vendors for each. */
import type { ServerResponse } from 'node:http'
import { type Got, json } from '../../../media/wire.ts'
import { wav } from '../../../vendors/media/made/sound.ts'

type Json = Record<string, any>
export type Answer = (response: ServerResponse, request: Got, origin: string) => void

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export interface Route {
  path: string
  fields: Json
  /** Sent as a form with this file. */
  file?: { name: string; bytes: Buffer }
  model: string
  events: (object | string)[]
  /** The vendor's answer if it ignores the request for a stream; null: text streams are refused then. */
  whole: { type: string; body: string | Buffer } | null
  /** The model of a vendor with another shape, and its answer. */
  other?: { model: string; answer: Answer }
  /** The type of the last event. */
  last: string
}

const sound = wav(3, 8_000)
const picture = { b64_json: png.toString('base64') }
export const speechAnswer: Answer = (response) =>
  void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('ID3sound')
const transcriptAnswer: Answer = (response) => json(response, { text: 'Hi.', language_code: 'en', words: [] })
const imageAnswer: Answer = (response, { method, path }, origin) => {
  if (method === 'POST') return json(response, { id: 'j', polling_url: `${origin}/v1/get_result?id=j` })
  if (path === '/sample.png') return void response.end(png)
  json(response, { status: 'Ready', result: { sample: `${origin}/sample.png` } })
}

const images = (path: string, kind: string, more: Partial<Route> = {}): Route => ({
  path,
  fields: { prompt: 'a fox', stream: true },
  model: 'draws',
  events: [
    { type: `${kind}.partial_image`, partial_image_index: 0, ...picture },
    { type: `${kind}.completed`, ...picture, usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } },
  ],
  whole: { type: 'application/json', body: JSON.stringify({ created: 1, data: [picture], output_format: 'png' }) },
  other: { model: 'flux/flux-kontext-pro', answer: imageAnswer },
  last: `${kind}.completed`,
  ...more,
})

export const routes: readonly Route[] = [
  images('/images/generations', 'image_generation'),
  images('/images/edits', 'image_edit', { file: { name: 'image', bytes: png } }),
  {
    path: '/audio/speech',
    fields: { input: 'Hello', voice: 'alloy', stream_format: 'sse' },
    model: 'speaks',
    events: [
      { type: 'speech.audio.delta', audio: 'AAAA' },
      { type: 'speech.audio.done', usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } },
    ],
    whole: { type: 'audio/mpeg', body: Buffer.from([0xff, 0xfb, 0x90, 0]) },
    other: { model: 'voices/eleven_v3', answer: speechAnswer },
    last: 'speech.audio.done',
  },
  {
    path: '/audio/transcriptions',
    fields: { stream: true },
    file: { name: 'file', bytes: sound },
    model: 'hears',
    events: [
      { type: 'transcript.text.delta', delta: 'Hi.' },
      { type: 'transcript.text.done', text: 'Hi.' },
    ],
    whole: { type: 'application/json', body: JSON.stringify({ text: 'Hi.' }) },
    other: { model: 'voices/scribe_v1', answer: transcriptAnswer },
    last: 'transcript.text.done',
  },
  {
    path: '/completions',
    fields: { prompt: 'Once', stream: true, stream_options: { include_usage: true } },
    model: 'writes',
    events: [
      { id: 'c', object: 'text_completion', choices: [{ index: 0, text: 'upon', finish_reason: 'stop' }] },
      { id: 'c', object: 'text_completion', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } },
      '[DONE]',
    ],
    whole: null,
    last: 'text_completion',
  },
]
