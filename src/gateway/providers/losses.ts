import type { Body } from '../model/body.ts'
import type { ProviderEndpoint } from '../model/offer.ts'
import type { Loss } from '../model/canonical-request.ts'
import { idsWhere } from './every-provider.ts'
import { upstreamOf } from './upstream.ts'

const wrapping = idsWhere((provider) => provider.wraps)
const NONE: readonly Loss[] = []

/** True if requests to the endpoint are wrapped in another format, even in its own shape. */
export const isWrapped = ({ preset }: ProviderEndpoint): boolean => wrapping.has(preset)

export const lossesOnTheWay = (
  endpoint: ProviderEndpoint,
  body: Body,
  headers: Readonly<Record<string, unknown>>,
): readonly Loss[] =>
  isWrapped(endpoint) ? (upstreamOf(endpoint).transport?.losses?.(body.json, headers) ?? NONE) : NONE
