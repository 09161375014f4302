import { typedNumber } from '../../ui/text/typed-number.ts'

export const periods = [
  ['day', 'per day'],
  ['week', 'per week'],
  ['month', 'per month'],
  ['total', 'in total'],
] as const
export type Period = (typeof periods)[number][0]

export function capOf(words: string): number | null {
  const cap = words.trim().replace(/^\$/, '').replace(',', '.')
  return cap === '' ? null : typedNumber(cap)
}
