import { type Body, type Edit, setField, spliceApart } from '../model/body.ts'
import type { PassthroughFormat } from './formats/format.ts'
import type { Offer } from '../model/offer.ts'
import { limitFieldsOf, adaptedBody } from './adapted-body.ts'
import type { Candidate } from '../routing/router.ts'
import { isObject } from '../model/json.ts'
import { wellFormedJson } from '../model/well-formed.ts'
import { raisedLimit } from '../wire/shared/least-output.ts'
import { takesStreamOptions } from '../providers/supports.ts'

/** A client's request whose bytes travel on, and where in them the fields stand that differ. */
interface ForwardedRequest {
  readonly format: PassthroughFormat
  readonly body: Body
  /** The place of the model's name in the body; null: it is not there. */
  readonly place: { start: number; end: number } | null
  /** OpenAI's shape says what was used only when asked: then it is asked for in the client's place. */
  readonly usageEdit: Edit | null
  /** The client's body, without what only means something here. */
  bodyFor(offer: Offer): Body
}

/** The client's bytes with what has to differ, in two pieces. `limit`: the output tokens that money was put aside for; null: as asked. */
export function forwardedBody(
  request: ForwardedRequest,
  { offer, variant }: Candidate,
  limit: number | null,
): { lead: string; rest: Buffer } {
  const { format, usageEdit, place } = request
  const body = adaptedBody(request.bodyFor(offer), format, offer)
  const same = body === request.body
  const edits: Edit[] = []
  if (usageEdit !== null && takesStreamOptions(offer.endpoint)) {
    const usage = same ? usageEdit : askForUsage(body)
    if (usage !== null) edits.push(usage)
  }
  const name = offer.upstreamModel + variant
  if (body.value('model') !== name) {
    const text = body.places ? name : JSON.stringify(name)
    edits.push(same && place !== null ? { ...place, text } : setField(body, 'model', text))
  }
  const named = format.limitFields.length === 1 ? body.value(format.limitFields[0]!) : undefined
  const most = typeof named === 'number' ? raisedLimit(named, format.shape) : named
  if (most !== named) edits.push(setField(body, format.limitFields[0]!, String(most)))
  if (limit !== null) edits.push(setField(body, limitFieldsOf(format, offer)[0]!, String(limit)))
  return spliceApart(body, edits)
}

export function askForUsage(body: Body): Edit | null {
  const options = body.value('stream_options')
  const given = isObject(options) ? options : {}
  return given.include_usage === true
    ? null
    : setField(body, 'stream_options', wellFormedJson({ ...given, include_usage: true }))
}
