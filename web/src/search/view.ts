import { type HitType, types as known } from '../shared/search/hit.ts'
import { shorten } from '../../../src/core/text/shorten.ts'

export interface View {
  q?: string
  types?: HitType[]
  workspace?: string
}

export function viewIn({ q, types, workspace }: Record<string, unknown>): View {
  const words = typeof q === 'string' || typeof q === 'number' ? String(q).trim() : ''
  const typeNames = Array.isArray(types) ? types : []
  const some = known.map(({ type }) => type).filter((type) => typeNames.includes(type))
  return {
    ...(words !== '' && { q: shorten(words, 1_000) }),
    ...(some.length > 0 && { types: some }),
    ...(typeof workspace === 'string' && /^\w{26}$/.test(workspace) && { workspace }),
  }
}

export function toggled({ types = [], ...rest }: View, type: HitType): View {
  const next = types.includes(type) ? types.filter((one) => one !== type) : [...types, type]
  return { ...rest, ...(next.length > 0 && { types: next }) }
}
