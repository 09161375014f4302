import type { Loss, CanonicalRequest, CanonicalPart } from '../model/canonical-request.ts'
import { lostModalities } from '../wire/shared/sampling.ts'
import { simModelOf } from './offers.ts'

export function simLosses(canonical: CanonicalRequest): Loss[] {
  const losses = lostModalities(canonical)
  if (canonical.n !== undefined && canonical.n > 1) losses.push('n')
  if (canonical.response_format !== undefined && canonical.response_format.type !== 'text')
    losses.push('response_format')
  for (const name of ['frequency_penalty', 'presence_penalty'] as const) if (canonical[name]) losses.push(name)
  if (canonical.verbosity !== undefined && canonical.verbosity !== 'medium') losses.push('verbosity')
  const media = canonical.messages.flatMap(({ content }) => content.flatMap(inside)).map(({ type }) => type)
  if (media.includes('image')) losses.push('messages.image')
  if (media.includes('file')) losses.push('messages.file')
  if (simModelOf(canonical.model) === 'script') return losses
  if (canonical.tools !== undefined && canonical.tools.length > 0) losses.push('tools')
  if (canonical.reasoning !== undefined && canonical.reasoning.effort !== 'none') losses.push('reasoning')
  return losses
}

const inside = (part: CanonicalPart): CanonicalPart[] => (part.type === 'tool_result' ? part.content : [part])
