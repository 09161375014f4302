import { searchableResource } from '#access/searchable-resource.ts'

export const computerSearchable = searchableResource('computer', 'computers', async (db, ids) => {
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
