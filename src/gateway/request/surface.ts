import type { Body } from '../model/body.ts'
import type { Redraft } from '../passthrough/redraft.ts'
import type { AnswerStream } from '../wire/streams/answer-stream.ts'
import type { PassthroughFormat } from '../passthrough/formats/format.ts'
import type { Listed, Offer, Shape } from '../model/offer.ts'
import type { Preferences } from '../routing/preferences.ts'
import type { ErrorAnswer } from '../wire/problem.ts'
import type { AnswerAbout } from '../model/answer-about.ts'
import type { Collected } from '../model/answer.ts'
import type { CanonicalRequest, Chunk, Loss } from '../model/canonical-request.ts'

/** The work that a path and its method stand for. `model_or_endpoints`: a model, or behind `…/endpoints` those who serve it. */
export type Operation =
  | 'generate'
  | 'videos'
  | 'begin_video'
  | 'count_tokens'
  | 'models'
  | 'model'
  | 'model_or_endpoints'
  | 'account'
  | 'stored'

/** The route that a request demands, in the surface's own words. */
export interface Demands extends Preferences {
  /** The models in the order in which they are tried; never empty. */
  models: readonly string[]
  /** The body that this offer is sent. `unserved`: names of the request that nobody here serves; whoever relays may know them. */
  bodyFor(offer: Offer, unserved: readonly string[]): Body
  /** Fields that this offer cannot be told, by the names of the fields. */
  lossesTo(offer: Offer): readonly Loss[]
  /** Fields that the surface itself fulfils in the place of an offer that cannot. */
  fulfilled: ReadonlySet<Loss>
}

/** One of the three vendors' APIs that the gateway serves: everything about it that is the vendor's. */
export interface Surface {
  name: 'compat-a' | 'compat-b' | 'compat-c'
  /** The beginnings of its paths. */
  roots: readonly string[]
  /** Path under a root → method → operation. A path that ends in `/*` takes the rest as an id. */
  routes: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  format: PassthroughFormat
  /** Upstream shapes whose bytes are this surface's own. */
  shapes: readonly Shape[]
  /** Whether other shapes serve it too, by translation. */
  translates: boolean
  /**
   * Bytes that must not travel as they are: thoughts sealed for the client's keeping, another shape's body. They are read
   * and written anew, or refused for it.
   */
  foreign(body: Body): boolean
  /** Whether items of this request's translated answer may be named again by their account; absent: none ever. */
  keeps?(body: Body): boolean
  /** Whether usage inside a stream is for those who asked for it only. */
  usageOnRequest: boolean
  /** The bytes that end a stream whose provider forgot to. */
  closing: string | null
  /** The counting of tokens before anything is generated; null: it has no path for it. */
  count: { format: PassthroughFormat; write(tokens: number): object } | null
  /** Null: a plain request, whose bytes travel to whoever serves its model. Absent: nothing can be asked. */
  demands?(body: Body): Demands | null
  /** Refuses headers that the vendor refuses, whoever would serve the request. */
  refuseHead?(headers: Readonly<Record<string, unknown>>): void
  redraft?(about: AnswerAbout, offer: Offer): Redraft
  /** The name of a piece of an answer that the shape has no place for; null: it has one. Absent: it has one for each. */
  loses?(chunk: Chunk): Loss | null
  /** Headers of an answer with this id: name, value, … */
  head?(id: string): readonly string[]
  /** Written every so many milliseconds into a stream whose call is alive, before its first word and behind it. */
  keepAlive: { text: string; everyMs: number }
  error(failure: unknown, requestId: string): ErrorAnswer
  decode(
    json: Record<string, unknown>,
    headers: Readonly<Record<string, unknown>>,
  ): { canonical: CanonicalRequest; includeUsage: boolean; losses: readonly Loss[] }
  stream(about: AnswerAbout, includeUsage: boolean, requestId: string): AnswerStream
  whole(answer: Collected, about: AnswerAbout): object
  models(rows: readonly Listed[], query: URLSearchParams): object
  model(row: Listed): object
}
