import type { CanonicalRequest, Loss } from '../../model/canonical-request.ts'
import type { Json } from '../../model/json.ts'
import type { ProviderQuirks } from './quirks.ts'

export interface Target {
  model: string
  maxOutputTokens: number | null
  capabilities: readonly string[]
  provider: ProviderQuirks | null
}

export interface Decoded {
  canonical: CanonicalRequest
  stream: boolean
  /** By the client's names. */
  losses: Loss[]
}

export interface Encoded {
  body: Json
  losses: Loss[]
  /** From sent name to the client's. */
  renamed: ReadonlyMap<string, string>
  /** Unsupported by the provider, so the gateway watches the response for them. */
  watched?: readonly string[]
}

export const mayReason = ({ capabilities }: Target): boolean =>
  capabilities.length === 0 || capabilities.includes('reasoning')
