import type { CanonicalRequest, Loss } from '../../model/canonical-request.ts'
import type { Json } from '../../model/json.ts'
import type { ProviderQuirks } from './quirks.ts'

/** What a translation needs to know about the provider's model. */
export interface Target {
  /** The provider's name for the model. */
  model: string
  maxOutputTokens: number | null
  /** Empty means unknown. */
  capabilities: readonly string[]
  /** Differences from the vendor whose shape it speaks; null for unknown servers. */
  provider: ProviderQuirks | null
}

/** A client's request in canonical form. */
export interface Decoded {
  canonical: CanonicalRequest
  stream: boolean
  /** Fields without a place in the canonical request, by the client's names. */
  losses: Loss[]
}

/** A canonical request in the target's shape. */
export interface Encoded {
  body: Json
  losses: Loss[]
  /** Tool names that had to change, from sent name to the client's. `renameBack` restores them in the response. */
  renamed: ReadonlyMap<string, string>
  /** Stop sequences that the provider doesn't support. The gateway watches the response for them. */
  watched?: readonly string[]
}

/** False only if the model is known not to reason. */
export const mayReason = ({ capabilities }: Target): boolean =>
  capabilities.length === 0 || capabilities.includes('reasoning')
