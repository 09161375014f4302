import type { ListedEndpoint } from '#core/registry.ts'

/** `api_keys` and `memberId` as a person types them: `api-keys`, `member-id`. */
export const kebab = (name: string): string =>
  name.replaceAll('_', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The words of an endpoint's command, after `uk`. */
export const wordsOf = ({ area, verb, endpoint }: ListedEndpoint): string[] =>
  endpoint.cli?.split(' ') ?? [kebab(area.name), kebab(verb)]
