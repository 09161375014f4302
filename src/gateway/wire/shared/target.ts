import type { CanonicalRequest, Loss } from '../../model/canonical-request.ts'
import type { Json } from '../../model/json.ts'
import type { ProviderQuirks } from './quirks.ts'

/** The provider's model as a translation needs to know it. */
export interface Target {
  /** The provider's name of the model. */
  model: string
  maxOutputTokens: number | null
  /** Empty: nobody knows. */
  capabilities: readonly string[]
  /** The vendor's differences from the one whose shape it has; null: nobody knows who it is. */
  provider: ProviderQuirks | null
}

/** A client's request, read. */
export interface Decoded {
  canonical: CanonicalRequest
  stream: boolean
  /** Fields that have no place in the canonical request, by the client's names of them. */
  losses: Loss[]
}

/** The same as it is put to a target. */
export interface Encoded {
  body: Json
  losses: Loss[]
  /** Tool names that had to change, sent → the client's; `renameBack` turns the answer's around. Empty: none. */
  renamed: ReadonlyMap<string, string>
  /** Stop sequences that the provider is not told, for it takes none or so few: the answer is watched for them. Absent: none. */
  watched?: readonly string[]
}

/** Whether the model reasons, as far as anybody knows. */
export const mayReason = ({ capabilities }: Target): boolean =>
  capabilities.length === 0 || capabilities.includes('reasoning')
