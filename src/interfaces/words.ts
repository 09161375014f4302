import type { ListedEndpoint } from '#core/registry.ts'

/** Converts names to words: `api_keys` becomes `api-keys`, `memberId` becomes `member-id`. */
export const kebab = (name: string): string =>
  name.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** An endpoint's command words after `uk`. */
export const wordsOf = ({ area, verb, endpoint }: ListedEndpoint): string[] =>
  endpoint.cli?.split(' ') ?? [kebab(area.name), kebab(verb)]
