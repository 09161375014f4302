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
    const sourceRows = rowsOf(source, askedOf(source), catalogue)
    const provider = catalogueProviderOf(source.endpoint)
    for (const row of sourceRows) {
      put(exact, row.slug, row)
      if (provider !== null && provider !== source.endpoint.slug) put(alias, `${provider}/${row.upstreamModel}`, row)
      for (const name of bareNamesOf({ provider: provider ?? '', upstream_model: row.upstreamModel }))
        put(bare, name, row)
    }
    return sourceRows
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
  const cachedOffers = ownNames.get(reach)
  if (cachedOffers !== undefined) return cachedOffers
  const offersByName = byName(ownLocal(reach))
  ownNames.set(reach, offersByName)
  return offersByName
}

export function localByName(reach: Reach): ReadonlyMap<string, readonly LocalOffer[]> {
  const cachedOffers = localNames.get(reach)
  if (cachedOffers !== undefined) return cachedOffers
  const offersByName = byName(localIn(reach))
  localNames.set(reach, offersByName)
  return offersByName
}

/**
 * Returns the caller's own offers, then the instance's. Another workspace, or a computer shared with one, is the last
 * resort: an invitation must not redirect someone's prompts.
 */
export function resolve(reach: Reach, model: string): readonly Row[] {
  const { own, instance, further } = reach
  const local = resolveLocalName(reach, model)
  if (local.length > 0) return local
  const namedRows = [
    ...first(own, (ownerOffers) => ownerOffers.exact.get(model) ?? ownerOffers.alias.get(model)),
    ...mappedTo(ownLocal(reach), model, 'own'),
    ...(instance.exact.get(model) ?? instance.alias.get(model) ?? none),
  ]
  if (namedRows.length > 0) return namedRows
  const name = plainName(model)
  const bareRows = [...first(own, (ownerOffers) => ownerOffers.bare.get(name)), ...(instance.bare.get(name) ?? none)]
  if (bareRows.length > 0) return bareRows
  const apart = first(further, (ownerOffers) => ownerOffers.exact.get(model))
  if (apart.length > 0) return apart
  const sharedRows = mappedTo(localIn(reach), model, 'all')
  if (sharedRows.length > 0) return sharedRows
  const others = first(further, (ownerOffers) => ownerOffers.bare.get(name))
  return others.length > 0 ? others : resolveLocalName(reach, `local/${model}`)
}

function resolveLocalName(reach: Reach, model: string): readonly Row[] {
  const own = resolveLocal(ownByName(reach), model, 'own')
  return own.length > 0 ? own : resolveLocal(localByName(reach), model, 'all')
}

function first(
  all: readonly OwnerOffers[],
  rowsIn: (ownerOffers: OwnerOffers) => readonly Row[] | undefined,
): readonly Row[] {
  for (const ownerOffers of all) {
    const rows = rowsIn(ownerOffers)
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
