import { sql } from 'kysely'
import type { Id } from '#core/ids.ts'
import type { Db } from '../../postgres/client.ts'

export interface Speaker {
  endpointId: Id
  model: string
}

const LAST = 20

/**
 * Characters per second over each model's last successful calls, by `keyOf`; null without one. Computed from stored
 * calls, so all processes agree.
 */
export async function speedsOf(db: Db, speakers: readonly Speaker[]): Promise<ReadonlyMap<string, number>> {
  if (speakers.length === 0) return new Map()
  const { rows } = await sql<{ endpoint: Id; model: string; characters: number; ms: number }>`
    select x.endpoint, x.model, s.characters, s.ms
    from unnest(${speakers.map(({ endpointId }) => endpointId)}::bpchar[], ${speakers.map(({ model }) => model)}::text[]) x(endpoint, model)
    cross join lateral (
      select sum(l.characters)::float8 as characters, sum(l.duration_ms)::float8 as ms from (
        select c.characters, c.duration_ms from calls c
        where c.endpoint_id = x.endpoint and c.model = x.model and c.characters > 0 and c.status = 'succeeded'
        order by c.id desc limit ${LAST}
      ) l
    ) s
    where s.ms > 0`.execute(db)
  return new Map(
    rows.map(({ endpoint, model, characters, ms }) => [
      keyOf({ endpointId: endpoint, model }),
      Math.round((characters / ms) * 10_000) / 10,
    ]),
  )
}

export const keyOf = ({ endpointId, model }: Speaker): string => `${endpointId} ${model}`
