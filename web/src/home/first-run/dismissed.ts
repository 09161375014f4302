import { type Kept, kept } from '../../shared/kept.ts'

const byAccount = new Map<string, Kept>()

export function dismissed(accountId: string): Kept {
  const known = byAccount.get(accountId) ?? kept(`ukiyo.first-steps.${accountId}`)
  byAccount.set(accountId, known)
  return known
}
