import { isWord, type Json, listOf, objectOf } from '../../../model/json.ts'
import { SHORT_BYTES, SHORT_MS, VIDEO_BYTES, badAnswer, jsonOf } from '../../answers.ts'
import type { DeferredMaker, MediaInput, PollResult, VideoRequest } from '../../adapter.ts'
import { isRefusal } from '../../refusal-words.ts'
import { type Inline, jsonBody } from '../../request-body.ts'
import { lossesIn, ratioOf, withOptions } from '../../request-fields.ts'
import { retryAfter } from '../../../wire/faults/faults.ts'
import { modelPath, nameSegment } from '../named-path.ts'

const NAME = /^[\w-]+(?:\/[\w.-]*[\w-]){1,8}$/

/** Supported sizes: `@ai-sdk/google` 4.0.121, google-video-model.ts. */
const resolutions: Readonly<Record<number, string>> = { 720: '720p', 1080: '1080p', 2160: '4k' }

/** The video requires the key, which is sent in the header, never in the URL as in the vendor's samples. */
export const geminiVideos: DeferredMaker<VideoRequest> = {
  how: 'deferred',
  async submit(wire, request) {
    const { model, prompt, seconds, size, resolution, aspectRatio, seed, negativePrompt, providerOptions } = request
    const { firstFrame, lastFrame, references } = request
    const namedSize = size === null ? undefined : resolutions[Math.min(size.width, size.height)]
    const answer = await wire.ask({
      method: 'POST',
      path: `/models/${nameSegment('model', model)}:predictLongRunning`,
      ...jsonBody((inline) => {
        const picture = pictureBy(inline)
        return {
          instances: [
            {
              prompt,
              ...(firstFrame !== null && { image: picture(firstFrame) }),
              ...(lastFrame !== null && { lastFrame: picture(lastFrame) }),
              ...(references.length > 0 && {
                referenceImages: references.map((one) => ({ image: picture(one), referenceType: 'asset' })),
              }),
            },
          ],
          parameters: withOptions(providerOptions, {
            sampleCount: 1,
            aspectRatio: aspectRatio ?? (size === null ? null : ratioOf(size)),
            resolution: resolution ?? namedSize,
            durationSeconds: seconds,
            seed,
            negativePrompt,
          }),
        }
      }),
      mostBytes: SHORT_BYTES,
      withinMs: SHORT_MS,
    })
    const { name } = await jsonOf(answer)
    if (!isWord(name) || !NAME.test(name)) throw badAnswer('The provider returned no operation ID.')
    return {
      job: { name, ...(seconds !== null && { seconds }) },
      losses: [
        ...lossesIn(request, 'fps', 'audio'),
        ...(size !== null && resolution === null && namedSize === undefined ? ['size'] : []),
      ],
    }
  },
  async poll(wire, job) {
    const path = `/${modelPath(String(job['name']))}`
    const answer = await wire.ask({ method: 'GET', path, mostBytes: SHORT_BYTES, withinMs: SHORT_MS })
    const { done: isDone, error, response } = await jsonOf(answer)
    if (isDone !== true) return { status: 'pending', progress: null, retryAfterSeconds: retryAfter(answer.headers) }
    if (error !== undefined && error !== null) {
      const { message } = objectOf(error)
      const words = isWord(message) ? message : 'The provider didn’t say why it failed.'
      return { status: isRefusal(words) ? 'refused' : 'failed', message: words }
    }
    return endedJob(objectOf(objectOf(response)['generateVideoResponse']), job['seconds'], (uri) =>
      wire.download(uri, VIDEO_BYTES),
    )
  },
}

const pictureBy =
  (inline: Inline) =>
  (input: MediaInput): Json => ({ bytesBase64Encoded: inline(input, 'base64'), mimeType: input.type })

function endedJob(operation: Json, seconds: unknown, download: (uri: string) => AsyncIterable<Uint8Array>): PollResult {
  const uris = listOf(operation['generatedSamples'])
    .map((sample) => objectOf(objectOf(sample)['video'])['uri'])
    .filter(isWord)
  // Filtered results are counted, and sometimes explained.
  const reasons = listOf(operation['raiMediaFilteredReasons']).filter(isWord)
  if (uris.length === 0)
    return {
      status: 'refused',
      message: reasons[0] ?? 'The provider generated no video because its filter blocked it.',
    }
  return {
    status: 'done',
    delivered: {
      kind: 'files',
      files: uris.map((uri) => ({ bytes: download(uri), revisedPrompt: null })),
      units: typeof seconds === 'number' ? { videoSeconds: seconds * uris.length } : {},
      losses: [],
    },
  }
}
