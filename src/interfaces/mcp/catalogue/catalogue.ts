import type { ListedEndpoint } from '#core/registry.ts'
import { inputSchema } from '#core/registry.ts'
import { convert } from '../../schemas.ts'
import { outline } from './outline.ts'
import { stemsOf, synonymsOf } from './words.ts'

export interface Card {
  listed: ListedEndpoint
  name: string
  /** Arguments on one line, built on first use. */
  arguments: () => string
}

/** Endpoints agents can call, and their search. */
export interface Catalogue {
  cards: readonly Card[]
  /** Finds an endpoint by `chats.list`, or `chats_list` as in openapi.json. */
  get(name: string): Card | null
  /** Best first; deterministic. */
  rank(query: string): Card[]
}

/** Excludes browser-only endpoints (sign-in, key management) and uploads: a tool call has no bytes. */
export const forAgents = ({ endpoint: { access, takes, refused } }: ListedEndpoint): boolean =>
  access.kind !== 'session' && access.kind !== 'sign_in' && takes !== 'bytes' && refused === undefined

export function createCatalogue(listed: readonly ListedEndpoint[]): Catalogue {
  const cards = listed
    .filter(forAgents)
    .map((one): Card => ({ listed: one, name: one.name, arguments: once(() => argumentsOf(one)) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const byName = new Map(
    cards.flatMap((card) => [[card.name.replace('.', '_'), card] as const, [card.name, card] as const]),
  )
  const index = once(() => createIndex(cards))
  return { cards, get: (name) => byName.get(name.trim()) ?? null, rank: (query) => index()(query) }
}

function argumentsOf({ endpoint }: ListedEndpoint): string {
  const { schemas, defs } = convert('input', { input: inputSchema(endpoint) })
  return outline(schemas.input!, defs)
}

/** Weight of each word by field. */
function weigh({ listed: { name, area, endpoint } }: Card): Map<string, number> {
  const weights = new Map<string, number>()
  const add = (weight: number, text: string) => {
    for (const stemmed of new Set(stemsOf(text))) weights.set(stemmed, (weights.get(stemmed) ?? 0) + weight)
  }
  const fields = inputSchema(endpoint).shape as Record<string, { description?: string }>
  add(6, name)
  add(5, endpoint.summary)
  add(2, endpoint.path)
  add(2, `${area.title} ${area.summary}`)
  add(2, Object.keys(fields).join(' '))
  add(1, endpoint.description ?? '')
  add(
    0.5,
    Object.values(fields)
      .map(({ description = '' }) => description)
      .join(' '),
  )
  return weights
}

const SATURATION = 4
const SYNONYM = 0.6
const PREFIX = 0.5
const MAX_WORDS = 20
/** Results below this fraction of the best score are mostly noise. */
const TAIL = 0.2

/** BM25 over weighted fields. Synonyms and prefixes count less than the word itself. */
function createIndex(cards: readonly Card[]): (query: string) => Card[] {
  const weights = cards.map(weigh)
  const spread = new Map<string, number>()
  for (const words of weights) for (const word of words.keys()) spread.set(word, (spread.get(word) ?? 0) + 1)
  const rarity = (word: string): number => {
    const holders = spread.get(word) ?? 0
    return Math.log(1 + (cards.length - holders + 0.5) / (holders + 0.5))
  }
  const gain = (word: string, weights: ReadonlyMap<string, number>): number => {
    const weight = weights.get(word)
    return weight === undefined ? 0 : rarity(word) * (weight / (weight + SATURATION))
  }
  const vocabulary = [...spread.keys()]

  /** Matching terms of a query word and their weights. */
  function formsOf(word: string): Map<string, number> {
    const forms = new Map(synonymsOf(word).map((other) => [other, SYNONYM]))
    if (word.length >= 4)
      for (const longer of vocabulary)
        if (longer.startsWith(word)) forms.set(longer, Math.max(PREFIX, forms.get(longer) ?? 0))
    return forms.set(word, 1)
  }

  return (query) => {
    const asked = [...new Set(stemsOf(query))].slice(0, MAX_WORDS).map(formsOf)
    if (asked.length === 0) return []
    const exact = query
      .trim()
      .toLowerCase()
      .replace(/[\s_/]+/g, '.')
    const scored = cards.map((card, i) => {
      const parts = asked.map((forms) =>
        Math.max(...[...forms].map(([word, worth]) => worth * gain(word, weights[i]!))),
      )
      const matched = parts.filter((part) => part > 0).length
      return { card, score: parts.reduce((all, part) => all + part, 0) * (matched / asked.length) }
    })
    const least = TAIL * Math.max(...scored.map(({ score }) => score))
    const named = (card: Card): number => Number(card.name.replaceAll('_', '.') === exact)
    return scored
      .filter(({ card, score }) => named(card) || (score > 0 && score >= least))
      .toSorted((a, b) => named(b.card) - named(a.card) || b.score - a.score || (a.card.name < b.card.name ? -1 : 1))
      .map(({ card }) => card)
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}
