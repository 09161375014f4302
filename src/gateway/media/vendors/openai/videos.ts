import { isWord, type Json, objectOf } from '../../../model/json.ts'
import { SHORT_BYTES, SHORT_MS, VIDEO_BYTES, badAnswer, jsonOf } from '../../answers.ts'
import type { DeferredMaker, MadeFile, MediaWire, VideoRequest } from '../../adapter.ts'
import { isRefusal } from '../../refusal-words.ts'
import { formBody } from '../../request-body.ts'
import { formOptions, lossesIn, sizeWords } from '../../request-fields.ts'
import { retryAfter } from '../../../wire/faults/faults.ts'
import { nameSegment } from '../named-path.ts'

const ID = /^[\w-]{1,200}$/

/**
 * OpenAI announced the end of Sora for 2026-09-24 (`openai` 7.55.0, videos.d.ts), but others speak the shape. It has no
 * cancel: a job can be deleted once it has ended.
 */
export const openaiVideos: DeferredMaker<VideoRequest> = {
  how: 'deferred',
  async submit(wire, request) {
    const { model, prompt, seconds, size, firstFrame, providerOptions } = request
    const fields = [
      ['model', model],
      ['prompt', prompt],
      ['seconds', seconds],
      ['size', sizeWords(size)],
    ] as const
    const ours = [...fields.map(([name]) => name), 'input_reference']
    const answer = await wire.ask({
      method: 'POST',
      path: '/videos',
      ...formBody([...fields, ...formOptions(providerOptions, ours), ['input_reference', firstFrame]]),
      mostBytes: SHORT_BYTES,
      withinMs: SHORT_MS,
    })
    const { id, seconds: actualSeconds } = await jsonOf(answer)
    if (!isWord(id) || !ID.test(id)) throw badAnswer('The provider returned no job ID.')
    return {
      job: { id, ...(Number(actualSeconds) > 0 && { seconds: Number(actualSeconds) }) },
      losses: lossesIn(
        request,
        'resolution',
        'aspectRatio',
        'fps',
        'audio',
        'seed',
        'negativePrompt',
        'lastFrame',
        'references',
      ),
    }
  },
  async poll(wire, job) {
    const path = `/videos/${nameSegment('job', String(job['id']))}`
    const answer = await wire.ask({ method: 'GET', path, mostBytes: SHORT_BYTES, withinMs: SHORT_MS })
    const { status, progress, error } = await jsonOf(answer)
    if (status === 'completed') {
      const { seconds } = job
      return {
        status: 'done',
        delivered: {
          kind: 'files',
          files: [contentOf(wire, path)],
          units: typeof seconds === 'number' ? { videoSeconds: seconds } : {},
          losses: [],
        },
      }
    }
    if (status === 'failed' || status === 'cancelled') return failureOf(objectOf(error))
    return {
      status: 'pending',
      progress: typeof progress === 'number' ? Math.min(1, Math.max(0, progress / 100)) : null,
      retryAfterSeconds: retryAfter(answer.headers),
    }
  },
}

function failureOf({ code, message }: Json): { status: 'failed' | 'refused'; message: string } {
  const words = isWord(message) ? message : 'The provider didn’t say why it failed.'
  return { status: isRefusal(`${String(code)} ${words}`) ? 'refused' : 'failed', message: words }
}

const contentOf = (wire: MediaWire, path: string): MadeFile => ({
  bytes: (async function* () {
    const ask = { method: 'GET', path: `${path}/content`, mostBytes: VIDEO_BYTES, withinMs: SHORT_MS * 15 } as const
    yield* (await wire.ask(ask)).body
  })(),
  revisedPrompt: null,
})
