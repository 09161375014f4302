import { type Catalogue, bareNamesOf, plainName } from '#gateway/catalogue/catalogue.ts'
import type { Id } from '#core/ids.ts'
import type { ListedModel } from '../lists/list-models.ts'
import { type Row, rowsOf } from '../catalogues/rows.ts'
import { type LocalOffer, byName, localRows, mappedTo, resolveLocal } from './local-models.ts'
import { type Source, catalogueProviderOf } from '../endpoints/sources.ts'

export interface OwnerOffers {
  ownerId: Id
  sources: readonly Source[]
  rows: readonly Row[]
  /** By `slug/id`. */
  exact: ReadonlyMap<string, readonly Row[]>
  /** By the catalogue's slug, if the endpoint's slug differs from its provider's. */
  alias: ReadonlyMap<string, readonly Row[]>
  bare: ReadonlyMap<string, readonly Row[]>
  local: readonly LocalOffer[]
}

export function indexOffers(
  ownerId: Id,
  sources: readonly Source[],
  askedOf: (source: Source) => readonly ListedModel[] | null,
  catalogue: Catalogue,
  local: readonly LocalOffer[],
): OwnerOffers {
  const exact = new Map<string, Row[]>()
  const alias = new Map<string, Row[]>()
  const bare = new Map<string, Row[]>()
  const rows = sources.flatMap((source) => {
    const served = rowsOf(source, askedOf(source), catalogue)
    const provider = catalogueProviderOf(source.endpoint)
    for (const row of served) {
      put(exact, row.slug, row)
      if (provider !== null && provider !== source.endpoint.slug) put(alias, `${provider}/${row.upstreamModel}`, row)
      for (const name of bareNamesOf({ provider: provider ?? '', upstream_model: row.upstreamModel }))
        put(bare, name, row)
    }
    return served
  })
  return { ownerId, sources, rows, exact, alias, bare, local }
}

function put(map: Map<string, Row[]>, key: string, row: Row): void {
  const rows = map.get(key)
  if (rows) rows.push(row)
  else map.set(key, [row])
}

export interface Reach {
  own: readonly OwnerOffers[]
  instance: OwnerOffers
  /** Other workspaces. Their models never shadow names of `own` or `instance`. */
  further: readonly OwnerOffers[]
}

export const partsOf = ({ own, instance, further }: Reach): OwnerOffers[] => [...own, instance, ...further]

const none: readonly Row[] = []

const localIn = (reach: Reach): LocalOffer[] => partsOf(reach).flatMap(({ local }) => local)
const localNames = new WeakMap<Reach, ReadonlyMap<string, readonly LocalOffer[]>>()
const ownNames = new WeakMap<Reach, ReadonlyMap<string, readonly LocalOffer[]>>()
const ownLocal = ({ own }: Reach): LocalOffer[] =>
  own.flatMap(({ local }) => local.filter(({ machine }) => machine.owned))
/** A shared computer can't shadow the caller's models. */
function ownByName(reach: Reach): ReadonlyMap<string, readonly LocalOffer[]> {
  const known = ownNames.get(reach)
  if (known !== undefined) return known
  const named = byName(ownLocal(reach))
  ownNames.set(reach, named)
  return named
}

export function localByName(reach: Reach): ReadonlyMap<string, readonly LocalOffer[]> {
  const known = localNames.get(reach)
  if (known !== undefined) return known
  const named = byName(localIn(reach))
  localNames.set(reach, named)
  return named
}

/**
 * Returns the caller's own offers, then the instance's. Another workspace, or a computer shared with one, is the last
 * resort: an invitation must not redirect someone's prompts.
 */
export function resolve(reach: Reach, model: string): readonly Row[] {
  const { own, instance, further } = reach
  const local = localNamed(reach, model)
  if (local.length > 0) return local
  const named = [
    ...first(own, (owned) => owned.exact.get(model) ?? owned.alias.get(model)),
    ...mappedTo(ownLocal(reach), model, 'own'),
    ...(instance.exact.get(model) ?? instance.alias.get(model) ?? none),
  ]
  if (named.length > 0) return named
  const name = plainName(model)
  const called = [...first(own, (owned) => owned.bare.get(name)), ...(instance.bare.get(name) ?? none)]
  if (called.length > 0) return called
  const apart = first(further, (owned) => owned.exact.get(model))
  if (apart.length > 0) return apart
  const lent = mappedTo(localIn(reach), model, 'all')
  if (lent.length > 0) return lent
  const others = first(further, (owned) => owned.bare.get(name))
  return others.length > 0 ? others : localNamed(reach, `local/${model}`)
}

function localNamed(reach: Reach, model: string): readonly Row[] {
  const own = resolveLocal(ownByName(reach), model, 'own')
  return own.length > 0 ? own : resolveLocal(localByName(reach), model, 'all')
}

function first(
  all: readonly OwnerOffers[],
  rowsIn: (owned: OwnerOffers) => readonly Row[] | undefined,
): readonly Row[] {
  for (const owned of all) {
    const rows = rowsIn(owned)
    if (rows) return rows
  }
  return none
}

/** One row per slug: the one a request would use first. */
export function reachableRows(reach: Reach, isFailing: (row: Row) => boolean): Row[] {
  const bySlug = new Map<string, Row>()
  const all = [...partsOf(reach).flatMap(({ rows }) => rows), ...localRows(localIn(reach), new Set(ownLocal(reach)))]
  for (const row of all) {
    const first = bySlug.get(row.slug)
    if (first === undefined || (isFailing(first) && !isFailing(row))) bySlug.set(row.slug, row)
  }
  return [...bySlug.values()].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
}
