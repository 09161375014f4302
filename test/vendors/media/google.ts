// Google's images, speech, and video on loopback, in addition to the loopback Gemini.
//
// Sources: @google/genai 3.1.0 (ImageConfig, SpeechConfig, GenerateVideosOperation); @ai-sdk/google 4.0.121 (bodies of
// predictLongRunning, operations, `audio/L16` with its rate, the video's link and its key); media.md 2.
//
// Unknown, so only guessed: the words of errors; the tokens of images and audio; the sizes of aspect ratios; the answer
// for an expired file (404 here); whether a download redirects to another origin (only by script: `link.moved`); the
// voices of a model (any name is accepted); `error.code` of a failed operation (13 here).
import type { Answer, Whole } from '../delivery/deliver.ts'
import { id, parse, weigh } from '../delivery/plan.ts'
import { geminiModels, problem, readGenerate } from '../gemini/content.ts'
import { Gemini, geminiManners } from '../gemini/gemini.ts'
import { invalid, googleFault } from '../gemini/rules.ts'
import { check, type Rule } from '../rules.ts'
import { serve, type Call } from '../server.ts'
import type { Json, Options } from '../vendor.ts'
import { Jobs, mediaVendor, type Job, type MediaVendor } from './jobs/jobs.ts'
import { startLinks, type Links } from './jobs/links.ts'
import { wholeOf, spoil } from './made/file.ts'
import { formatOf, picture } from './made/picture.ts'
import { pcm } from './made/sound.ts'
import { video } from './made/video.ts'

export type GoogleModel = { id: string; makes: 'image' | 'speech' | 'video' }

export const googleModels: GoogleModel[] = [
  { id: 'gemini-2.5-flash-image', makes: 'image' },
  { id: 'gemini-3-pro-image-preview', makes: 'image' },
  { id: 'gemini-2.5-flash-preview-tts', makes: 'speech' },
  { id: 'veo-3.1-generate-preview', makes: 'video' },
]

/** Its base URL is `<origin>/v1beta`. */
export async function googleMedia(options: Options<GoogleModel> = {}): Promise<MediaVendor> {
  const { models = googleModels, otherwise, key = 'AIza-loopback-gemini', keys = [] } = options
  const links = await startLinks()
  const shop = new Gemini([...geminiModels, ...models], [key, ...keys])
  const media = new Media(models, links)
  const vendor = await serve({
    ...geminiManners(shop),
    otherwise,
    answer: async (call) => shop.admit(call) ?? (await media.answer(call)) ?? shop.answer(call),
  })
  const expire = () => {
    links.expire()
    media.late = true
  }
  return mediaVendor(vendor, { jobs: media.jobs.list, files: links.vendor, expire })
}

const text: Rule = { kind: 'string' }
const closedObject = (fields: Record<string, Rule>): Rule => ({ kind: 'object', fields, closed: true })
const image = closedObject({ bytesBase64Encoded: text, gcsUri: text, mimeType: text })
const references: Rule = { kind: 'array', items: closedObject({ image, referenceType: text }), maxItems: 3 }
const prediction = closedObject({
  instances: {
    kind: 'array',
    required: true,
    minItems: 1,
    maxItems: 1,
    items: closedObject({ prompt: text, image, lastFrame: image, referenceImages: references }),
  },
  parameters: closedObject({
    sampleCount: { kind: 'integer', min: 1, max: 4 },
    aspectRatio: { kind: 'string', values: ['16:9', '9:16'] },
    resolution: { kind: 'string', values: ['720p', '1080p', '4k'] },
    durationSeconds: { kind: 'integer', min: 4, max: 8 },
    seed: { kind: 'integer' },
    personGeneration: text,
    negativePrompt: text,
    generateAudio: { kind: 'boolean' },
  }),
})

class Media {
  readonly models: GoogleModel[]
  readonly links: Links
  readonly jobs = new Jobs()
  late = false
  /** The files of finished operations: name → job. */
  readonly #files = new Map<string, Job>()

  constructor(models: GoogleModel[], links: Links) {
    this.models = models
    this.links = links
  }

  async answer(call: Call): Promise<Answer | undefined> {
    const { method, path } = call
    const [, model, operation] = /^\/v1beta\/models\/([^/:]+)\/operations\/([^/]+)$/.exec(path) ?? []
    if (method === 'GET' && model && operation) return this.#poll(call, `models/${model}/operations/${operation}`)
    const [, file] = /^\/v1beta\/files\/([^/:]+):download$/.exec(path) ?? []
    if (method === 'GET' && file) return this.#download(call, file)
    const [, name, verb] = /^\/v1(?:beta)?\/models\/([^/:]+):(\w+)$/.exec(path) ?? []
    const known = this.models.find((one) => one.id === name)
    if (method !== 'POST' || !known) return undefined
    const body = parse(call.request.body)
    if (!body) return problem({ status: 400, message: 'Invalid JSON payload received. Unexpected token.' })
    if (known.makes === 'video') return verb === 'predictLongRunning' ? this.#film(call, known, body) : undefined
    if (verb !== 'generateContent' && verb !== 'streamGenerateContent') return undefined
    const refusal = readGenerate(body, { id: known.id })
    if (refusal) return problem(refusal)
    const whole = await this.#content(call, known, body)
    if (verb === 'generateContent' || whole.status >= 400) return whole
    return { format: 'sse', newline: '\r\n', frames: [{ data: whole.body }], opening: 0, closing: 0, failure: () => [] }
  }

  async #content({ behaviour }: Call, model: GoogleModel, body: Json): Promise<Whole> {
    const config: Json = body['generationConfig'] ?? {}
    const modalities: string[] = config['responseModalities'] ?? ['TEXT', 'IMAGE']
    const kind = model.makes === 'image' ? 'IMAGE' : 'AUDIO'
    if (!modalities.includes(kind) || (kind === 'AUDIO' && modalities.length > 1)) {
      return problem(invalid('The requested combination of response modalities is not supported by the model.'))
    }
    const parts = (body['contents'] as Json[]).flatMap((content) => content['parts'] as Json[])
    const badPart = parts.find(
      ({ inlineData }) => inlineData && !formatOf(Buffer.from(inlineData.data ?? '', 'base64')),
    )
    if (badPart)
      return problem(
        invalid(
          'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
        ),
      )
    const words = parts.map((part) => part['text'] ?? '').join('')
    const { moderated: isModerated, spoiled: damage, size, seconds } = behaviour.media ?? {}
    const head = { modelVersion: model.id, responseId: id('', 22) }
    const prompt = behaviour.usage?.input ?? weigh(body['contents'])
    if (isModerated) {
      const why = 'Unable to show the generated image. The image was filtered out because it violated the policy.'
      const candidates = [{ finishReason: 'IMAGE_SAFETY', finishMessage: why, index: 0 }]
      const usageMetadata = { promptTokenCount: prompt, totalTokenCount: prompt }
      return { status: 200, body: { candidates, usageMetadata, ...head } }
    }
    const long = seconds ?? [...words].length / 15
    const made =
      kind === 'IMAGE'
        ? await picture(size ?? sizeOf(config['imageConfig']), { words })
        : { bytes: pcm(long, 24_000), type: 'audio/L16;codec=pcm;rate=24000' }
    const { bytes, type } = spoil(made, damage)
    const file = { inlineData: { mimeType: type, data: bytes.toString('base64') } }
    const says = kind === 'IMAGE' && modalities.includes('TEXT') ? [{ text: 'Here is your picture.' }] : []
    const output = behaviour.usage?.output ?? (kind === 'IMAGE' ? 1_290 : Math.ceil(long * 25))
    const usageMetadata = {
      promptTokenCount: prompt,
      candidatesTokenCount: output,
      totalTokenCount: prompt + output,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
      candidatesTokensDetails: [{ modality: kind, tokenCount: output }],
    }
    const content = { role: 'model', parts: [...says, file] }
    return { status: 200, body: { candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata, ...head } }
  }

  #film(call: Call, model: GoogleModel, body: Json): Whole {
    const fault = check(prediction, body)
    if (fault) return problem(googleFault(fault))
    const instance: Json = body['instances'][0]
    if (!instance['prompt'] && !instance['image']) return problem(invalid('The prompt must not be empty.'))
    const ask = { ...instance, ...body['parameters'] }
    const job = this.jobs.begin(call, `models/${model.id}/operations/${id('', 12).toLowerCase()}`, ask)
    return { status: 200, body: { name: job.id } }
  }

  #poll(call: Call, name: string): Whole {
    const job = this.jobs.find(name, call.key ?? '')
    if (!job) return problem({ status: 404, message: 'Requested entity was not found.' })
    const state = this.jobs.poll(job, call)
    if (job.endedAt === undefined) return { status: 200, body: { name } }
    if (state === 'failed') {
      return { status: 200, body: { name, done: true, error: { code: 13, message: 'Video generation failed.' } } }
    }
    const reasons = ['We are unable to generate the video because it violates the usage guidelines.']
    const generateVideoResponse =
      state === 'moderated'
        ? { raiMediaFilteredCount: 1, raiMediaFilteredReasons: reasons }
        : { generatedSamples: this.#samples(call, job) }
    const kind = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse'
    return { status: 200, body: { name, done: true, response: { '@type': kind, generateVideoResponse } } }
  }

  #samples({ request }: Call, job: Job): Json[] {
    const base = `http://${request.headers.host}/v1beta/files`
    return Array.from({ length: job.ask['sampleCount'] ?? 1 }, (_, n) => {
      const name = `${job.id.split('/').at(-1)}${n}`
      this.#files.set(name, job)
      const keyParam = job.making.link?.keyed ? `&key=${job.key}` : ''
      return { video: { uri: `${base}/${name}:download?alt=media${keyParam}` } }
    })
  }

  #download(call: Call, name: string): Answer {
    const job = this.#files.get(name)
    if (!job || job.key !== call.key || this.late || job.making.link?.expired) {
      return problem({ status: 404, message: 'Requested entity was not found.' })
    }
    const { ask, making } = job
    const tall = ask['aspectRatio'] === '9:16'
    const [long, short] = ask['resolution'] === '1080p' ? [1920, 1080] : [1280, 720]
    const size = making.size ?? (tall ? `${short}x${long}` : `${long}x${short}`)
    const file = spoil(video(size, making.seconds ?? ask['durationSeconds'] ?? 8), making.spoiled)
    if (making.link?.moved) {
      const location = this.links.lay(file, { link: making.link.asked ? { asked: making.link.asked } : {} }, job.key)
      return { status: 302, body: '', headers: { location } }
    }
    call.behaviour = { ...making.link?.asked, ...call.behaviour }
    return wholeOf(file)
  }
}

function sizeOf(config: Json = {}): string {
  const sides: Record<string, string> = { '16:9': '1344x768', '9:16': '768x1344', '4:3': '1184x864', '3:4': '864x1184' }
  return sides[config['aspectRatio']] ?? '1024x1024'
}
