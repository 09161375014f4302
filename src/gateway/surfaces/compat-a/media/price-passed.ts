import { Refusal } from '#kernel/errors.ts'
import type { MediaInput, MediaRequest } from '../../../media/adapter.ts'
import { chargesSeconds, costOf, mediaUsage } from '../../../media/price.ts'
import { tokensIn } from '../../../media/vendors/openai/usage.ts'
import type { Body } from '../../../model/body.ts'
import { emptyReading } from '../../../model/in-progress.ts'
import { type MediaOffer, type Offer, isMediaOffer } from '../../../model/offer.ts'
import type { PassthroughFormat } from '../../../passthrough/formats/format.ts'
import { usageAtEnd } from '../../../passthrough/formats/untranslated.ts'
import type { GatewayRequest } from '../../../request/request.ts'
import { fieldsOf } from './read-body.ts'
import { Fields } from './read-fields.ts'
import { readImages, readSpeech, readTranscription } from './read-request.ts'
import { StagedInputs } from './staged-inputs.ts'

const LISTENED = new Set(['/audio/transcriptions', '/audio/translations'])

/**
 * The format of a call whose bytes pass, with its price by what it asks for, as under a cap: by variant, pixel, character or
 * second. A recording is measured first where somebody who may serve it charges for its seconds.
 */
export async function pricedByUnits(
  request: GatewayRequest,
  format: PassthroughFormat,
  body: Body,
  bytes: Buffer,
  offers: readonly Offer[],
): Promise<PassthroughFormat> {
  const { media, path } = format
  const charging = offers.filter(isMediaOffer).filter((offer) => offer.media.pricing !== null)
  if (media === undefined || charging.length === 0) return format
  const isTimed = LISTENED.has(path) && charging.some((offer) => chargesSeconds(offer.media.pricing!))
  const seconds = isTimed ? await lengthOf(request, bytes) : null
  const asked = requestIn(path, body, seconds)
  if (asked === null) return format
  return {
    ...format,
    media: {
      ...media,
      read(json, offer, contentType, tail) {
        const reading = media.read(json, offer, contentType, tail)
        const priced = isMediaOffer(offer) ? pricedAt(offer, asked, usageAtEnd(contentType, tail)) : null
        return priced === null ? reading : { ...emptyReading(), ...priced, ended: true }
      },
    },
  }
}

function pricedAt(offer: MediaOffer, asked: Omit<MediaRequest, 'model'>, told: unknown) {
  if (offer.endpoint.billing === 'free') return null
  const request = { ...asked, model: offer.upstreamModel } as MediaRequest
  const units = tokensIn(told)
  const priced = costOf(request, units, offer, null)
  return priced.nano === null ? null : { usage: mediaUsage(request, units), priced }
}

/** What the vendor is asked for, as far as a price needs it; null: it is for the vendor to say what is wrong with it. */
function requestIn(path: string, { json }: Body, seconds: number | null): Omit<MediaRequest, 'model'> | null {
  const fields = new Fields(Object.entries(json))
  try {
    switch (path) {
      case '/images/generations':
      case '/images/edits':
        return readImages(fields, { images: [], mask: null })
      case '/audio/speech':
        return readSpeech(fields)
      case '/audio/transcriptions':
      case '/audio/translations':
        return readTranscription(new Fields([]), { ...UNSEEN, durationSeconds: seconds })
      default:
        return null
    }
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/** A recording of which nothing but its length counts. */
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

/** Seconds of the form's recording; null: it cannot be read here, which its vendor may be able to. */
async function lengthOf(request: GatewayRequest, bytes: Buffer): Promise<number | null> {
  const left = new AbortController()
  request.onLeave(() => left.abort(new Refusal('unavailable', { message: 'The client has left.' })))
  await using inputs = new StagedInputs(request.gateway.engine.media, request.caller.principal.accountId, left.signal)
  try {
    const [sound] = await inputs.all(fieldsOf(bytes, request.incoming.headers['content-type']).files, 'file', 'audio')
    return sound?.durationSeconds ?? null
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
