import { z } from 'zod'
import type { Id } from './ids.ts'
import type { Period } from './time.ts'

/** Money is whole nano-dollars (10⁻⁹ USD) as bigint; the API uses JSON numbers in dollars with up to 9 decimals. */
export type Nano = bigint

export const NANO = 1_000_000_000n

export interface Cap {
  nano: Nano
  period: Period
}

/** A budget counted under `subject`, the ID of its resource. A call may have several. */
export interface Budget {
  kind: 'workspace' | 'member' | 'agent' | 'automation' | 'chat' | 'goal' | 'run'
  subject: Id
  /** Null: counted in `spent` but unlimited, so a budget set later knows earlier spending. */
  nano: Nano | null
  period: Period
}

/** At least the smallest stored amount, so it never rounds to zero. */
export const positiveUsd = z.number().min(0.000000001).max(1_000_000)

/** Exact up to 9 decimals for amounts below four million dollars. */
export const toUsd = (nano: Nano): number => Number(formatUsd(nano))

export const usdOrNull = (nano: Nano | null): number | null => (nano === null ? null : toUsd(nano))
export const nanoOrNull = (usd: number | null): Nano | null => (usd === null ? null : fromUsd(usd))

export function formatUsd(nano: Nano): string {
  const sign = nano < 0n ? '-' : ''
  const abs = nano < 0n ? -nano : nano
  const fraction = (abs % NANO).toString().padStart(9, '0').replace(/0+$/, '')
  return `${sign}${abs / NANO}${fraction && `.${fraction}`}`
}

export function fromUsd(usd: number | string): Nano {
  const words = typeof usd === 'number' ? plain(usd) : usd.trim()
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(words)
  if (!match) throw new RangeError(`not an amount of dollars: ${words}`)
  const [, sign, whole, fraction = ''] = match
  const digits = fraction.padEnd(10, '0')
  let nano = BigInt(whole!) * NANO + BigInt(digits.slice(0, 9))
  if (digits[9]! >= '5') nano += 1n
  return sign ? -nano : nano
}

const plain = (n: number): string => (/e/i.test(String(n)) ? n.toFixed(12) : String(n))

/** An exact fraction, so that Σ units × price is rounded once per call. */
export interface Fraction {
  numerator: bigint
  denominator: bigint
}

export const roundHalfUp = ({ numerator, denominator }: Fraction): Nano =>
  (2n * numerator + denominator) / (2n * denominator)
export const roundUp = ({ numerator, denominator }: Fraction): Nano => (numerator + denominator - 1n) / denominator
