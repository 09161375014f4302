import { type Searchable, MOST_BODY } from '#engine/text/index/searchable.ts'
import type { Id } from '#kernel/ids.ts'

export const agentSearchable: Searchable = {
  kinds: ['agent'],
  changed: async (_, events) => events.flatMap(({ resource_id }) => (resource_id === null ? [] : [resource_id])),
  async read({ postgres: { db } }, ids) {
    const rows = await db
      .selectFrom('resources as r')
      .innerJoin('agents as a', 'a.id', 'r.id')
      .select(['r.id', 'r.created_at', 'r.updated_at', 'a.name', 'a.description', 'a.system_prompt'])
      .where('r.id', 'in', ids)
      .execute()
    return rows.map(({ id, name, description, system_prompt, created_at, updated_at }) => ({
      type: 'agent',
      id,
      resource_id: id,
      parent_id: null,
      title: name,
      keywords: '',
      body: [description, system_prompt].filter(Boolean).join('\n\n').slice(0, MOST_BODY),
      created_at,
      updated_at,
    }))
  },
  all: ({ postgres: { db } }, after, limit) =>
    db
      .selectFrom('agents')
      .select('id')
      .$if(after !== null, (query) => query.where('id', '>', after!))
      .orderBy('id')
      .limit(limit)
      .execute()
      .then((rows) => rows.map(({ id }): Id => id)),
}
