import { Refusal, refuse } from '#core/errors.ts'
import { type MadeMedia, type MediaCallOptions, callMedia } from './call.ts'
import type { MediaOffer } from '../../../model/offer.ts'
import { inOne, wholeOf } from '../../../media/answers.ts'
import type { DeliveredMedia, MadeSound, MediaInput, MediaRequest, SoundFormat } from '../../../media/adapter.ts'
import type { AnswerPlace } from '#infra/media/answer-room.ts'
import type { MediaGateway } from '../../../media/gateway.ts'
import { soundAs } from '../../../media/sound-as.ts'
import type { Json } from '../../../model/json.ts'
import { isSimulated } from '../../../sim/offers.ts'
import { takesOpenaiFields } from '../../../media/vendors/every-adapter.ts'
import { lossesHeader } from '../../../translation/losses-header.ts'
import { comments, errorEvent } from '../../../request/comments.ts'
import type { GatewayRequest } from '../../../request/request.ts'
import { waitForDrain } from '../../../request/wait-for-drain.ts'
import { StreamPulse } from '../../../request/stream-pulse.ts'
import { fieldsOf } from './read-body.ts'
import type { Fields } from './read-fields.ts'
import { refuseUncounted } from './uncounted.ts'
import { readImages, readSpeech, readTranscription } from './read-request.ts'
import { StagedInputs } from './staged-inputs.ts'
import { isForeignVoice } from './voices.ts'
import { soundEvents, soundTypes } from './write-sound.ts'
import { imageEvents, writeImages } from './write-images.ts'
import { transcriptEvents, writeTranscript } from './write-transcript.ts'

const openaiNames: Readonly<Record<string, string>> = {
  transparent: 'background',
  images: 'image',
  format: 'response_format',
  timestamps: 'timestamp_granularities',
  speakers: 'response_format',
}

const servedPaths: ReadonlySet<string> = new Set([
  '/images/generations',
  '/images/edits',
  '/audio/speech',
  '/audio/transcriptions',
])
export const canServe = (path: string): boolean => servedPaths.has(path)

export function serveMedia(request: GatewayRequest, media: MediaGateway, path: string, bytes: Buffer): void {
  request.after(new MediaAnswer(request, media).serve(path, bytes), () => {})
}

class MediaAnswer {
  readonly #request: GatewayRequest
  readonly #media: MediaGateway
  readonly #leaving = new AbortController()
  readonly #place: AnswerPlace
  #pulse: StreamPulse | null = null

  constructor(request: GatewayRequest, media: MediaGateway) {
    this.#request = request
    this.#media = media
    this.#place = media.place(this.#leaving.signal)
  }

  async serve(path: string, bytes: Buffer): Promise<void> {
    try {
      await this.#serve(path, bytes)
    } catch (error) {
      if (this.#pulse === null) throw error
      this.#request.fail(error, {}, errorEvent)
    } finally {
      this.#pulse?.[Symbol.dispose]()
    }
  }

  #startStream(): void {
    this.#pulse = new StreamPulse(this.#request)
  }

  async #serve(path: string, bytes: Buffer): Promise<void> {
    const { gateway, caller } = this.#request
    const account = caller.principal.accountId
    this.#request.onLeave(() =>
      this.#leaving.abort(new Refusal('unavailable', { message: 'The client disconnected.' })),
    )
    using _ = this.#place
    await using inputs = new StagedInputs(gateway.engine.media, account, this.#leaving.signal)
    const { fields, files } = fieldsOf(bytes, this.#request.incoming.headers['content-type'])
    const model = fields.needed('model')
    this.#request.leaveBody()
    switch (path) {
      case '/images/generations':
      case '/images/edits':
        return await this.#images(model, fields, {
          images: await inputs.all(files, 'image', 'image'),
          mask: (await inputs.all(files, 'mask', 'image'))[0] ?? null,
        })
      case '/audio/speech':
        return await this.#speech(model, fields)
      case '/audio/transcriptions': {
        const [sound] = await inputs.all(files, 'file', 'audio')
        if (sound === undefined)
          refuse('missing_parameter', {
            param: 'file',
            message: '`file` is required. Send a form with the audio file.',
          })
        return await this.#transcription(model, fields, sound)
      }
      default:
        return refuse('unsupported_model', {
          param: 'model',
          message: `The provider of \`${model}\` doesn’t support ${path}. Use a provider with OpenAI’s API format.`,
        })
    }
  }

  async #images(model: string, fields: Fields, files: Parameters<typeof readImages>[1]): Promise<void> {
    const { answer, further, ...request } = readImages(fields, files)
    if (answer.stream) this.#startStream()
    const result = await this.#call('image', model, request.n, further, (offer, n) => ({
      ...request,
      n,
      model: offer.upstreamModel,
    }))
    const losses = lostAt(result.offer, further)
    const pictures = await Promise.all(
      filesIn(result.delivered).map(async ({ bytes, revisedPrompt }) => ({
        bytes: await wholeOf({ body: bytes }),
        revisedPrompt,
      })),
    )
    const { usage } = result.settle('succeeded')
    if (answer.stream) return this.#events(result, losses, imageEvents(pictures, request, usage))
    this.#request.json(200, writeImages(pictures, request, answer.format, usage), this.#headers(result, losses))
  }

  async #speech(model: string, fields: Fields): Promise<void> {
    const { answer, further, ...request } = readSpeech(fields)
    if (answer.events) this.#startStream()
    let isOwnVoice = false
    const call = (withVoice: boolean) =>
      this.#call('speech', model, 1, further, (offer) => {
        isOwnVoice = !withVoice || isForeignVoice(offer, request.voice)
        return { ...request, voice: isOwnVoice ? null : voiceAt(offer, request.voice), model: offer.upstreamModel }
      })
    const result = await call(true).catch((error: unknown) => {
      // SDKs require a voice: if the provider lacks it, its own default is used.
      if (error instanceof Refusal && error.param === 'voice') return call(false)
      throw error
    })
    const [audio] = result.delivered
    if (audio?.kind !== 'sound') return refuse('bad_provider_answer')
    const { sound, isAsked } = await this.#converted(audio.sound, answer.format).catch((error: unknown) => {
      result.settle('succeeded')
      throw error
    })
    const all = [
      ...lostAt(result.offer, further),
      ...(isOwnVoice && request.voice !== null ? ['voice'] : []),
      ...(isAsked ? [] : ['response_format']),
    ]
    const signal = this.#leaving.signal
    let isSettled = false
    const settle = (): ReturnType<MadeMedia['settle']> | null => {
      if (isSettled) return null
      isSettled = true
      return result.settle(signal.aborted ? 'cancelled' : 'succeeded')
    }
    try {
      if (answer.events)
        await this.#stream(result, all, 'text/event-stream; charset=utf-8', soundEvents(sound.bytes, settle))
      else await this.#stream(result, all, soundTypes[sound.format], sound.bytes)
    } finally {
      settle()
    }
  }

  async #transcription(model: string, fields: Fields, sound: MediaInput): Promise<void> {
    const { answer, further, ...request } = readTranscription(fields, sound)
    if (answer.stream) this.#startStream()
    const result = await this.#call('transcription', model, 1, further, (offer) => ({
      ...request,
      model: offer.upstreamModel,
    }))
    const losses = lostAt(result.offer, further)
    const [delivery] = result.delivered
    if (delivery?.kind !== 'transcript') return refuse('bad_provider_answer')
    result.settle('succeeded')
    const { transcript } = delivery
    if (answer.stream) return this.#events(result, losses, transcriptEvents(transcript, answer.format))
    const { type, body } = writeTranscript(transcript, answer.format)
    await this.#stream(result, losses, type, inOne(Buffer.from(body)))
  }

  #call<R extends MediaRequest>(
    kind: R['kind'],
    model: string,
    n: number,
    further: Json,
    requestFor: (offer: MediaOffer, n: number) => R,
  ): Promise<MadeMedia> {
    const { gateway, caller, surface, incoming } = this.#request
    const isStrict = incoming.headers['x-uk-strict'] === '1'
    const options: MediaCallOptions<R> = {
      kind,
      model,
      principal: caller.principal,
      payer: caller.payer,
      surface: surface.name,
      requestFor: (offer, count) => {
        const losses = lostAt(offer, further)
        if (isStrict && losses.length > 0)
          refuse('invalid_parameter', {
            param: losses[0]!,
            message: `This provider doesn’t support ${losses.map((name) => `\`${name}\``).join(', ')}, and \`x-uk-strict\` is set. Leave out the field, or the header.`,
          })
        const supportedFields = Object.entries(further).filter(([name]) => !losses.includes(name))
        const request = { ...requestFor(offer, count), providerOptions: Object.fromEntries(supportedFields) }
        refuseUncounted(request)
        return request
      },
      n,
      signal: this.#leaving.signal,
      place: this.#place,
    }
    return callMedia(gateway, this.#media, options)
  }

  /** Returns the audio unchanged if it can't be converted here. */
  async #converted(sound: MadeSound, format: SoundFormat): Promise<{ sound: MadeSound; isAsked: boolean }> {
    const { converter } = this.#request.gateway.engine.media
    const account = this.#request.caller.principal.accountId
    try {
      const options = { account, signal: this.#leaving.signal, rate: PCM_RATE }
      return { sound: await soundAs(sound, format, converter, options), isAsked: true }
    } catch (error) {
      if (error instanceof Refusal && error.code === 'no_route') return { sound, isAsked: false }
      throw error
    }
  }

  #headers({ offer, seed, losses }: MadeMedia, own: readonly string[]): Record<string, string> {
    const all = [...new Set([...own, ...losses.map((name) => openaiNames[name] ?? name)])]
    return {
      'x-uk-route': `provider=${offer.endpoint.slug}; seed=${seed}`,
      ...(all.length > 0 && { 'x-uk-losses': lossesHeader(all) }),
    }
  }

  async #events(result: MadeMedia, losses: readonly string[], events: Iterable<object>): Promise<void> {
    const lines = [...events].map((event) => eventLine(event)).join('')
    await this.#stream(result, losses, 'text/event-stream; charset=utf-8', inOne(Buffer.from(lines)))
  }

  /** The head waits for the first byte, because until then the answer can still be an error. */
  async #stream(
    result: MadeMedia,
    losses: readonly string[],
    type: string,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const { head, response } = this.#request
    let hasBegun = false
    const begin = (): void => {
      if (hasBegun) return
      hasBegun = true
      this.#request.watchRights(result.offer.endpoint)
      // The head was sent before the provider was known, so comments name it.
      if (response.headersSent)
        return void response.write(comments(Object.entries(this.#headers(result, losses)).flat()))
      head.push('content-type', type, 'x-content-type-options', 'nosniff')
      if (type.startsWith('text/event-stream')) head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
      for (const [name, value] of Object.entries(this.#headers(result, losses))) head.push(name, value)
      response.writeHead(200, head)
    }
    for await (const part of bytes) {
      if (response.destroyed) return
      begin()
      if (!response.write(Buffer.from(part.buffer, part.byteOffset, part.byteLength))) await waitForDrain(response)
    }
    begin()
    this.#request.over()
    response.end()
  }
}

function lostAt(offer: MediaOffer, further: Json): string[] {
  const takesThem = !isSimulated(offer) && offer.endpoint.slug !== 'local' && takesOpenaiFields(offer.endpoint)
  return Object.keys(further).filter((name) => !takesThem || OF_STREAMS.has(name))
}
const OF_STREAMS: ReadonlySet<string> = new Set(['partial_images'])

/** Sample rate of `pcm`, which doesn't state it: platform.openai.com, text to speech. */
const PCM_RATE = 24_000

export const eventLine = (event: object): string =>
  `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`

const voiceAt = ({ endpoint: { slug } }: MediaOffer, voice: string | null): string | null =>
  voice?.startsWith(`${slug}/`) ? voice.slice(slug.length + 1) : voice

const filesIn = (deliveries: readonly DeliveredMedia[]) =>
  deliveries.flatMap((one) => (one.kind === 'files' ? one.files : []))
