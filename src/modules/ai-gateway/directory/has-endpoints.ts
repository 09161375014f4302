import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import type { Directory, Offer } from '#gateway/model/offer.ts'
import type { SharedHealth } from '#gateway/routing/health.ts'
import type { Principal } from '#core/principal.ts'
import type { Row } from '../catalogues/rows.ts'
import type { Standing, TestOutcome } from '../connections/connection-state.ts'
import type { Source } from '../endpoints/sources.ts'
import type { EndpointRow } from '../store.ts'

export interface HasEndpoints {
  /** The directory of who serves models for whom. */
  endpoints: EndpointDirectory
}

export interface EndpointDirectory extends Directory, SharedHealth, AsyncDisposable {
  offers(principal: Principal, model: string): readonly Row[] | Promise<readonly Row[]>
  /** Language and embedding models, in the order of their slugs; those of failing endpoints are not among them. */
  models(principal: Principal): readonly Row[] | Promise<readonly Row[]>
  /** Models that make or read media, likewise. */
  mediaModels(principal: Principal): readonly Row[] | Promise<readonly Row[]>
  /** Models of every kind that only failing endpoints have, in the order of their slugs. */
  failingModels(principal: Principal): readonly Row[] | Promise<readonly Row[]>
  /** Whether a call of this offer is likely to fail until the key, the account or the model's name changes. */
  refuses(offer: Offer): boolean
  /** Models, prices and limits as they hold now: what was fetched last, and the operator's own word. */
  catalogue(): Catalogue
  /** The endpoints that this caller may use, those that are failing too. */
  sources(principal: Principal): Promise<readonly Source[]>
  /** The standings of these sources, as any process has seen them. */
  standings(sources: readonly Source[]): Promise<readonly Standing[]>
  standingsOf(rows: readonly EndpointRow[]): Promise<readonly Standing[]>
  /**
   * Called after a commit that changed endpoints: in force in this process when it resolves, in the others within half
   * a second.
   */
  refresh(): Promise<void>
  /** Connects to the provider, remembers what it serves, and tells every process how it does. */
  test(row: EndpointRow): Promise<TestOutcome>
}
