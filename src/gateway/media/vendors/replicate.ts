import { isWord, type Json, objectOf } from '../../model/json.ts'
import { SHORT_BYTES, SHORT_MS, VIDEO_BYTES, badAnswer, dataOf, inOne, jsonOf, pictureBytes } from '../answers.ts'
import type {
  DeferredMaker,
  ImageRequest,
  MadeFile,
  MediaAdapter,
  MediaWire,
  PollResult,
  VendorJob,
  VideoRequest,
} from '../adapter.ts'
import { isRefusal } from '../refusal-words.ts'
import { type Inline, jsonBody } from '../request-body.ts'
import { withOptions } from '../request-fields.ts'
import { retryAfter } from '../../wire/faults/faults.ts'
import { type Inputs, imageInput, inputsOf, videoInput } from './replicate-inputs.ts'
import { modelPath, nameSegment } from './named-path.ts'

/** The path for predictions of this model: `owner/name`, with an optional `:version`. */
function placeOf(model: string): { path: string; version?: string } {
  const [name = '', version] = model.split(':')
  if (version !== undefined) return { path: '/predictions', version }
  return { path: `/models/${modelPath(name)}/predictions` }
}

/**
 * Submits without `Prefer: wait`: that would keep the request open for up to a minute, and after a crash it would be
 * unclear whether there is a job.
 */
async function submit(
  wire: MediaWire,
  { kind, model, providerOptions }: ImageRequest | VideoRequest,
  write: (inputs: Inputs, inline: Inline) => { input: Json; losses: string[] },
): Promise<{ job: VendorJob; losses: string[] }> {
  const inputs = await inputsOf(wire, model)
  const { path, version } = placeOf(model)
  let losses: string[] = []
  const body = jsonBody((inline) => {
    const fields = write(inputs, inline)
    losses = fields.losses
    return { input: withOptions(providerOptions, fields.input), ...(version !== undefined && { version }) }
  })
  const answer = await wire.ask({ method: 'POST', path, ...body, mostBytes: SHORT_BYTES, withinMs: SHORT_MS })
  const { id, urls } = await jsonOf(answer)
  const { get, cancel } = objectOf(urls)
  if (!isWord(get)) throw badAnswer('The provider returned no prediction ID.')
  return { job: { kind, get, ...(isWord(id) && { id }), ...(isWord(cancel) && { cancel }) }, losses }
}

async function poll(wire: MediaWire, { get, kind }: VendorJob): Promise<PollResult> {
  const answer = await wire.ask({ method: 'GET', path: String(get), mostBytes: 64 << 20, withinMs: SHORT_MS })
  const { status, output, error } = await jsonOf(answer)
  switch (status) {
    case 'succeeded': {
      const files = outputsIn(output).map((url) => fileAt(wire, url, kind === 'video' ? VIDEO_BYTES : pictureBytes))
      return {
        status: 'done',
        delivered: { kind: 'files', files, units: kind === 'image' ? { images: files.length } : {}, losses: [] },
      }
    }
    case 'failed': {
      const message = isWord(error) ? error : 'The provider didn’t say why it failed.'
      return { status: isRefusal(message) ? 'refused' : 'failed', message }
    }
    case 'canceled':
    case 'aborted':
      return { status: 'cancelled', message: 'The prediction was canceled.' }
    default:
      return { status: 'pending', progress: null, retryAfterSeconds: retryAfter(answer.headers) }
  }
}

function outputsIn(output: unknown): string[] {
  if (isWord(output)) return [output]
  const list = Array.isArray(output) ? output : Object.values(objectOf(output))
  return list.flatMap((one) => (isWord(one) && /^(?:https?|data):/.test(one) ? [one] : []))
}

function fileAt(wire: MediaWire, url: string, most: number): MadeFile {
  const data = dataOf(url)
  return { bytes: data === null ? wire.download(url, most) : inOne(data), revisedPrompt: null }
}

async function cancel(wire: MediaWire, { id, cancel: at }: VendorJob): Promise<boolean> {
  const path = isWord(at) ? at : isWord(id) ? `/predictions/${nameSegment('job', id)}/cancel` : null
  if (path === null) return false
  const answer = await wire.ask({ method: 'POST', path, mostBytes: SHORT_BYTES, withinMs: SHORT_MS })
  return ['canceled', 'aborted'].includes(String((await jsonOf(answer))['status']))
}

const image: DeferredMaker<ImageRequest> = {
  how: 'deferred',
  submit: (wire, request) => submit(wire, request, (inputs, inline) => imageInput(request, inputs, inline)),
  poll,
  cancel,
}

const video: DeferredMaker<VideoRequest> = {
  how: 'deferred',
  submit: (wire, request) => submit(wire, request, (inputs, inline) => videoInput(request, inputs, inline)),
  poll,
  cancel,
}

export const replicate: MediaAdapter = { image, video }
