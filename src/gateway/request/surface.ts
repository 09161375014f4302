import type { Body } from '../model/body.ts'
import type { Redraft } from '../passthrough/redraft.ts'
import type { AnswerStream } from '../wire/streams/answer-stream.ts'
import type { PassthroughFormat } from '../passthrough/formats/format.ts'
import type { ListedOffer, Offer, Shape } from '../model/offer.ts'
import type { Preferences } from '../routing/preferences.ts'
import type { ErrorAnswer } from '../wire/problem.ts'
import type { AnswerAbout } from '../model/answer-about.ts'
import type { CollectedAnswer } from '../model/answer.ts'
import type { CanonicalRequest, Chunk, Loss } from '../model/canonical-request.ts'

/** The operation for a path and method. `model_or_endpoints`: a model, or with `…/endpoints` its providers. */
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

export interface Demands extends Preferences {
  models: readonly string[]
  /** `unservedModels`: requested models without a provider here; an aggregator may know them. */
  bodyFor(offer: Offer, unservedModels: readonly string[]): Body
  lossesTo(offer: Offer): readonly Loss[]
  fulfilled: ReadonlySet<Loss>
}

export interface Surface {
  name: 'compat-a' | 'compat-b' | 'compat-c'
  roots: readonly string[]
  /** Path under a root → method → operation. A path that ends in `/*` takes the rest as an ID. */
  routes: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  format: PassthroughFormat
  shapes: readonly Shape[]
  translates: boolean
  /** Sealed reasoning, or another shape's body: rewritten or refused. */
  foreign(body: Body): boolean
  /** True if later requests of the account may refer to items of this translated answer; absent: never. */
  keeps?(body: Body): boolean
  usageOnRequest: boolean
  /** Ends a stream whose provider didn't. */
  closing: string | null
  count: { format: PassthroughFormat; write(tokens: number): object } | null
  /** Null: a plain request, forwarded to any provider of its model. Absent: the surface has no demands. */
  demands?(body: Body): Demands | null
  refuseHead?(headers: Readonly<Record<string, unknown>>): void
  redraft?(about: AnswerAbout, offer: Offer): Redraft
  /** Returns the name of a chunk that the shape can't represent, or null. Absent: it represents all. */
  loses?(chunk: Chunk): Loss | null
  /** Returns headers of an answer with this ID: name, value, … */
  head?(id: string): readonly string[]
  /** Written at this interval into a stream whose call is active, before the first content and between events. */
  keepAlive: { text: string; everyMs: number }
  error(failure: unknown, requestId: string): ErrorAnswer
  decode(
    json: Record<string, unknown>,
    headers: Readonly<Record<string, unknown>>,
  ): { canonical: CanonicalRequest; includeUsage: boolean; losses: readonly Loss[] }
  stream(about: AnswerAbout, includeUsage: boolean, requestId: string): AnswerStream
  whole(answer: CollectedAnswer, about: AnswerAbout): object
  models(rows: readonly ListedOffer[], query: URLSearchParams): object
  model(row: ListedOffer): object
}
