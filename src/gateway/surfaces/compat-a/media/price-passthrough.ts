import { Refusal, refuse } from '#core/errors.ts'
import type { Nano } from '#core/money.ts'
import type { MediaInput, MediaKind, MediaRequest } from '../../../media/adapter.ts'
import { checkCharacters } from '../../../media/cost/limits.ts'
import { chargesSeconds, costOf, mediaUsage, worstCase } from '../../../media/cost/price.ts'
import { tokensIn } from '../../../media/vendors/openai/usage.ts'
import type { Body } from '../../../model/body.ts'
import { emptyReading } from '../../../model/in-progress.ts'
import { type MediaOffer, type Offer, isMediaOffer } from '../../../model/offer.ts'
import type { PassthroughFormat } from '../../../passthrough/formats/format.ts'
import { usageAtEnd } from '../../../passthrough/formats/untranslated.ts'
import type { GatewayRequest } from '../../../request/request.ts'
import { type UploadedFile, fieldsOf } from './read-body.ts'
import { Fields } from './read-fields.ts'
import { readImages, readSpeech, readTranscription } from './read-request.ts'
import { canServe } from './serve.ts'
import { StagedInputs } from './staged-inputs.ts'
import { refuseUncounted } from './uncounted.ts'

const SPEECH = '/audio/speech'
const LISTENED = new Set(['/audio/transcriptions', '/audio/translations'])

const kindOf = (path: string): MediaKind | null =>
  path === SPEECH ? 'speech' : LISTENED.has(path) ? 'transcription' : path.startsWith('/images/') ? 'image' : null

type PricedRequest = Omit<MediaRequest, 'model'>

/**
 * Prices a passing call by its requested units, reserved before it is sent under a cap or balance. A recording is
 * measured first if its seconds are charged. Null: money must be reserved, but the request can't be read.
 */
export async function pricedByUnits(
  request: GatewayRequest,
  format: PassthroughFormat,
  body: Body,
  bytes: Buffer,
  offers: readonly Offer[],
): Promise<PassthroughFormat | null> {
  const { media, path } = format
  const kind = kindOf(path)
  const making = offers.filter(isMediaOffer).filter((offer) => offer.media.kind === kind)
  if (path === SPEECH) checkSomeTake(body.value('input'), making)
  const charging = making.filter((offer) => offer.media.pricing !== null)
  if (media === undefined || charging.length === 0) return format
  const { ledger } = request.gateway.engine
  const isHeldAt = (offer: Offer): boolean => ledger.isGuarded(request.caller.payer, offer.endpoint.billing)
  const isHeld = charging.some(isHeldAt)
  const isListened = LISTENED.has(path)
  const isTimed = isListened && (isHeld || charging.some((offer) => chargesSeconds(offer.media.pricing!)))
  const { fields, files } =
    isHeld || isTimed
      ? fieldsOf(bytes, request.incoming.headers['content-type'])
      : { fields: new Fields(Object.entries(body.json)), files: [] }
  const recording = isTimed ? await recordingIn(request, files) : UNSEEN
  if (isHeld && isListened && files.length === 0)
    refuse('missing_parameter', { param: 'file', message: '`file` is required. Send a form with the audio file.' })
  const parsedRequest = requestIn(path, {
    fields: isListened && !isHeld ? new Fields([]) : fields.without(PRICELESS),
    files,
    recording,
  })
  if (parsedRequest === null) return isHeld && canServe(path) ? null : format
  if (isHeld) refuseUncounted(parsedRequest)
  const isFit = (offer: Offer): offer is MediaOffer => isMediaOffer(offer) && offer.media.kind === kind
  const worst = (offer: MediaOffer): Nano | null => worstCase(requestTo(offer, parsedRequest), offer)
  return {
    ...format,
    media: {
      ...media,
      worst: (offer) => (isFit(offer) ? worst(offer) : undefined),
      read(json, offer, contentType, tail) {
        const reading = media.read(json, offer, contentType, tail)
        if (!isFit(offer)) return reading
        const reservation = isHeldAt(offer) ? worst(offer) : null
        const price = pricedAt(offer, parsedRequest, usageAtEnd(contentType, tail), reservation)
        return price === null ? reading : { ...emptyReading(), ...price, ended: true }
      },
    },
  }
}

function checkSomeTake(input: unknown, offers: readonly MediaOffer[]): void {
  if (typeof input !== 'string') return
  let refusal: unknown = null
  for (const offer of offers)
    try {
      return checkCharacters(input, offer)
    } catch (error) {
      refusal ??= error
    }
  if (refusal !== null) throw refusal
}

const requestTo = ({ upstreamModel: model }: MediaOffer, request: PricedRequest): MediaRequest =>
  ({ ...request, model }) as MediaRequest

function pricedAt(offer: MediaOffer, base: PricedRequest, report: unknown, reservation: Nano | null) {
  if (offer.endpoint.billing === 'free') return null
  const request = requestTo(offer, base)
  const units = tokensIn(report)
  const cost = costOf(request, units, offer, reservation)
  return cost.nano === null ? null : { usage: mediaUsage(request, units), priced: cost }
}

const PRICELESS: ReadonlySet<string> = new Set(
  'background language output_format response_format stream stream_format timestamp_granularities'.split(' '),
)

interface SentRequest {
  fields: Fields
  files: readonly UploadedFile[]
  recording: MediaInput
}

function requestIn(path: string, { fields, files, recording }: SentRequest): PricedRequest | null {
  try {
    const reader = readerOf(path, fields, files, recording)
    if (reader === null) return null
    const { answer: _, further: providerOptions, ...request } = reader
    return { ...request, providerOptions }
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

function readerOf(path: string, fields: Fields, files: readonly UploadedFile[], recording: MediaInput) {
  switch (path) {
    case '/images/generations':
    case '/images/edits':
      return readImages(fields, { images: files.map(() => UNSEEN), mask: null })
    case SPEECH:
      return readSpeech(fields)
    case '/audio/transcriptions':
    case '/audio/translations':
      return readTranscription(fields, recording)
    default:
      return null
  }
}

const UNSEEN: MediaInput = {
  kind: 'audio',
  type: 'application/octet-stream',
  extension: 'bin',
  sizeBytes: 0,
  width: null,
  height: null,
  durationSeconds: null,
  name: 'file',
  async *read() {},
}

/** No length: one of the recordings is unreadable here, though its vendor may support it. */
async function recordingIn(request: GatewayRequest, files: readonly UploadedFile[]): Promise<MediaInput> {
  const sizeBytes = files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const abort = new AbortController()
  request.onLeave(() => abort.abort(new Refusal('unavailable', { message: 'The client disconnected.' })))
  await using inputs = new StagedInputs(request.gateway.engine.media, request.caller.principal.accountId, abort.signal)
  const lengths: (number | null)[] = []
  try {
    for (const file of files) {
      const [sound] = await inputs.all([file], file.name, 'audio')
      lengths.push(sound?.durationSeconds ?? null)
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    lengths.push(null)
  }
  const isKnown = lengths.length > 0 && lengths.every((seconds) => seconds !== null)
  const durationSeconds = isKnown ? lengths.reduce((sum: number, seconds) => sum + seconds, 0) : null
  return { ...UNSEEN, sizeBytes, durationSeconds }
}
