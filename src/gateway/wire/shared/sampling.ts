import type { CanonicalRequest, Loss } from '../../model/canonical-request.ts'
import type { Losses } from './losses.ts'
import { string } from './request-fields.ts'

const names = ['frequency_penalty', 'presence_penalty'] as const

export function losePenalties(canonical: CanonicalRequest, losses: Losses): void {
  for (const name of names) if (canonical[name]) losses.add(name)
}

export function loseVerbosity({ verbosity }: CanonicalRequest, losses: Losses): void {
  if (verbosity !== undefined && verbosity !== 'medium') losses.add('verbosity')
}

/** Requested images or audio refuse the request (loss-fates.ts). */
export const lostModalities = ({ modalities }: CanonicalRequest): Loss[] =>
  modalities === undefined ? [] : ['modalities']

export function verbosityOf(value: unknown, name: string, losses: Losses): CanonicalRequest['verbosity'] {
  const word = string(value, name)
  if (word === 'low' || word === 'medium' || word === 'high') return word
  if (word !== undefined) losses.add(name)
  return undefined
}
