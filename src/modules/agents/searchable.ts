import { searchableResource } from '#authz/searchable-resource.ts'
import { MAX_BODY } from '#infra/text/index/searchable.ts'
import { shorten } from '#core/text/shorten.ts'

export const agentSearchable = searchableResource('agent', 'agents', async (db, ids) => {
  const rows = await db
    .selectFrom('resources as r')
    .innerJoin('agents as a', 'a.id', 'r.id')
    .select(['r.id', 'r.created_at', 'r.updated_at', 'a.name as title', 'a.description', 'a.system_prompt'])
    .where('r.id', 'in', ids)
    .execute()
  return rows.map(({ description, system_prompt, ...row }) => ({
    ...row,
    keywords: '',
    body: shorten([description, system_prompt].filter(Boolean).join('\n\n'), MAX_BODY),
  }))
})
