import { searchableResource } from '#authz/searchable-resource.ts'
import type { Searchable } from '#infra/text/index/searchable.ts'

/** Going online or offline doesn't change the search entry. */
const INDEXED_EVENTS = new Set(['computer.created', 'computer.updated', 'computer.transferred', 'computer.deleted'])

const resource = searchableResource('computer', 'computers', async (db, ids) => {
  const rows = await db
    .selectFrom('resources as r')
    .innerJoin('computers as c', 'c.id', 'r.id')
    .select(['r.id', 'r.created_at', 'r.updated_at', 'c.name as title', 'c.hostname', 'c.os', 'c.arch'])
    .where('r.id', 'in', ids)
    .execute()
  return rows.map(({ hostname, os, arch, ...row }) => ({
    ...row,
    keywords: [hostname, os, arch].filter(Boolean).join(' '),
    body: '',
  }))
})

export const computerSearchable: Searchable = {
  ...resource,
  findChanged: (sources, events) =>
    resource.findChanged(
      sources,
      events.filter(({ type }) => INDEXED_EVENTS.has(type)),
    ),
}
