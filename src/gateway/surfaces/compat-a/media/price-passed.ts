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

type Asked = Omit<MediaRequest, 'model'>

/**
 * The format of a call whose bytes pass, with its price by what it asks for, held before it is sent under a cap or a balance:
 * by variant, pixel, character or second. A recording is measured first where its seconds are charged. Null: money has to be
 * held, and what the request asks for can't be read.
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
  const asked = requestIn(path, {
    fields: isListened && !isHeld ? new Fields([]) : fields.without(PRICELESS),
    files,
    recording,
  })
  if (asked === null) return isHeld && canServe(path) ? null : format
  if (isHeld) refuseUncounted(asked)
  const isFit = (offer: Offer): offer is MediaOffer => isMediaOffer(offer) && offer.media.kind === kind
  const worst = (offer: MediaOffer): Nano | null => worstCase(requestTo(offer, asked), offer)
  return {
    ...format,
    media: {
      ...media,
      worst: (offer) => (isFit(offer) ? worst(offer) : undefined),
      read(json, offer, contentType, tail) {
        const reading = media.read(json, offer, contentType, tail)
        if (!isFit(offer)) return reading
        const held = isHeldAt(offer) ? worst(offer) : null
        const priced = pricedAt(offer, asked, usageAtEnd(contentType, tail), held)
        return priced === null ? reading : { ...emptyReading(), ...priced, ended: true }
      },
    },
  }
}

/** Refuses a text that none of these models takes. */
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

const requestTo = ({ upstreamModel: model }: MediaOffer, asked: Asked): MediaRequest =>
  ({ ...asked, model }) as MediaRequest

function pricedAt(offer: MediaOffer, asked: Asked, told: unknown, held: Nano | null) {
  if (offer.endpoint.billing === 'free') return null
  const request = requestTo(offer, asked)
  const units = tokensIn(told)
  const priced = costOf(request, units, offer, held)
  return priced.nano === null ? null : { usage: mediaUsage(request, units), priced }
}

/** Fields that no price depends on: what is wrong with them is for the provider to say. */
const PRICELESS: ReadonlySet<string> = new Set(
  'background language output_format response_format stream stream_format timestamp_granularities'.split(' '),
)

interface Sent {
  fields: Fields
  files: readonly UploadedFile[]
  recording: MediaInput
}

/** What the vendor is asked for, as far as a price needs it; null: it can't be read. */
function requestIn(path: string, { fields, files, recording }: Sent): Asked | null {
  try {
    const read = readerOf(path, fields, files, recording)
    if (read === null) return null
    const { answer: _, further: providerOptions, ...request } = read
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

/** A file of which nothing but its length counts. */
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

/** The form's recordings as one, in size and length. Without a length: one of them can't be read here, which its vendor may be able to. */
async function recordingIn(request: GatewayRequest, files: readonly UploadedFile[]): Promise<MediaInput> {
  const sizeBytes = files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const left = new AbortController()
  request.onLeave(() => left.abort(new Refusal('unavailable', { message: 'The client disconnected.' })))
  await using inputs = new StagedInputs(request.gateway.engine.media, request.caller.principal.accountId, left.signal)
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
