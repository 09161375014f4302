import type { Searchable } from '#engine/text/index/searchable.ts'
import type { Id } from '#kernel/ids.ts'

export const computerSearchable: Searchable = {
  kinds: ['computer'],
  changed: async (_, events) => events.flatMap(({ resource_id }) => (resource_id === null ? [] : [resource_id])),
  async read({ postgres: { db } }, ids) {
    const rows = await db
      .selectFrom('resources as r')
      .innerJoin('computers as c', 'c.id', 'r.id')
      .select(['r.id', 'r.created_at', 'r.updated_at', 'c.name', 'c.hostname', 'c.os', 'c.arch'])
      .where('r.id', 'in', ids)
      .execute()
    return rows.map(({ id, name, hostname, os, arch, created_at, updated_at }) => ({
      type: 'computer',
      id,
      resource_id: id,
      parent_id: null,
      title: name,
      keywords: [hostname, os, arch].filter(Boolean).join(' '),
      body: '',
      created_at,
      updated_at,
    }))
  },
  all: ({ postgres: { db } }, after, limit) =>
    db
      .selectFrom('computers')
      .select('id')
      .$if(after !== null, (query) => query.where('id', '>', after!))
      .orderBy('id')
      .limit(limit)
      .execute()
      .then((rows) => rows.map(({ id }): Id => id)),
}
