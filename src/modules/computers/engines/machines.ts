import { sql } from 'kysely'
import type { LocalModel, Machine, Machines } from '#modules/ai-gateway/service.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Links } from '../link/links.ts'
import { isLinked } from '../store.ts'
import { callOverLink } from './call-over-link.ts'

export const createMachines = (db: Db, links: () => Links): Machines => ({
  async servingIn(workspaceId) {
    const { rows } =
      await sql<MachineRow>`select c.id, c.name, r.workspace_id = ${workspaceId} and c.vouched as owned, case when c.vouched then r.workspace_id end as lender, ${isLinked} as online,
        json_agg(json_build_object('name', m.name, 'engine', m.engine, 'digest', m.digest, 'context_length', m.context_length,
          'quantization', m.quantization, 'embeds', m.embeds, 'mapping', m.mapping, 'created_at', m.created_at) order by m.name) as models
      from computers c join resources r on r.id = c.id join local_models m on m.computer_id = c.id and m.status = 'ready'
      where 'inference' = any(c.allows) and (r.workspace_id = ${workspaceId} or exists (select from computer_exposures e
        where e.computer_id = c.id and e.workspace_id = ${workspaceId} and 'inference' = any(e.capabilities)))
      group by c.id, r.workspace_id order by c.id`.execute(db)
    return rows.map(({ id, name, owned, lender, online, models }): Machine => ({
      id,
      name,
      owned,
      lender,
      online,
      models: models.map(({ context_length, created_at, ...model }) => ({
        ...model,
        contextLength: context_length,
        createdAt: new Date(created_at).toISOString(),
      })),
      dispatch: (send, { model }, handler) => callOverLink(links(), id, model, send, handler),
    }))
  },
})

interface MachineRow {
  id: Id
  name: string
  owned: boolean
  lender: Id | null
  online: boolean
  models: (Omit<LocalModel, 'contextLength' | 'createdAt'> & { context_length: number | null; created_at: string })[]
}
