import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import type { Directory, Offer } from '#gateway/model/offer.ts'
import type { SharedHealth } from '#gateway/routing/health.ts'
import type { Principal } from '#core/principal.ts'
import type { Row } from '../catalogues/rows.ts'
import type { Standing, TestOutcome } from '../connections/connection-state.ts'
import type { Source } from '../endpoints/sources.ts'
import type { EndpointRow } from '../store.ts'

export interface HasEndpoints {
  endpoints: EndpointDirectory
}

export interface EndpointDirectory extends Directory, SharedHealth, AsyncDisposable {
  offers(principal: Principal, model: string): readonly Row[] | Promise<readonly Row[]>
  /** Excludes failing endpoints. Sorted by slug. */
  models(principal: Principal): readonly Row[] | Promise<readonly Row[]>
  mediaModels(principal: Principal): readonly Row[] | Promise<readonly Row[]>
  /** Models that only failing endpoints serve. Sorted by slug. */
  failingModels(principal: Principal): readonly Row[] | Promise<readonly Row[]>
  /** Whether a request is likely to fail until the key, the account or the model name changes. */
  refuses(offer: Offer): boolean
  catalogue(): Catalogue
  sources(principal: Principal): Promise<readonly Source[]>
  standings(sources: readonly Source[]): Promise<readonly Standing[]>
  standingsOf(rows: readonly EndpointRow[]): Promise<readonly Standing[]>
  /** Applies committed changes to endpoints: in this process on return, in the others within 0.5 s. */
  refresh(): Promise<void>
  test(row: EndpointRow): Promise<TestOutcome>
}
