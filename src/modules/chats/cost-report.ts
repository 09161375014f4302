import { sql } from 'kysely'
import type { z } from 'zod'
import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import { type Nano, toUsd } from '#core/money.ts'
import { cursorOf, pageOf, positionOf, wholeAt } from '#core/paging.ts'
import { iso } from '#core/time.ts'
import { type Usage, keptUsage, sumUsage } from '#core/usage.ts'
import type { Cost, MessageCost } from './contract-costs.ts'
import { type MessageRow, messageStore } from './messages/message-store.ts'
import { type RunRow, runStore } from './runs/run-store.ts'
import type { ChatRow } from './store.ts'

interface Sum {
  model: string
  provider: string | null
  messages: bigint
  cost_nano: Nano | null
  usages: (Usage | null)[]
}

/** Includes all branches, delegated chats and failed attempts. */
export async function costOf({ db }: Context, chat: ChatRow): Promise<z.output<typeof Cost>> {
  const { rows } = await sql<Sum>`with recursive tree(id) as (
      select ${chat.id}::ulid union all select c.id from tree t join chats c on c.parent_chat_id = t.id
    )
    select model, provider, count(*) as messages, sum(cost_nano)::int8 as cost_nano,
      array_agg(usage) filter (where usage is not null) as usages
    from (
      select model, provider, cost_nano, usage from messages where chat_id in (select id from tree) and provider is not null
      union all
      -- A goal's judge has no message.
      select s.result ->> 'model', s.result ->> 'provider', s.cost_nano, s.result -> 'usage'
        from runs r join steps s on s.run_id = r.id and s.kind = 'evaluation'
        where r.chat_id = ${chat.id} and r.goal_id is not null
    ) calls group by model, provider order by sum(cost_nano) desc nulls last, model`.execute(db)
  const { rows: counted } = await sql<{
    runs: bigint
  }>`select count(*) as runs from runs where chat_id = ${chat.id}`.execute(db)
  return {
    id: chat.id,
    created_at: iso(chat.created_at),
    cost_usd: toUsd(rows.reduce((sum, { cost_nano }) => sum + (cost_nano ?? 0n), 0n)),
    usage: sumUsage(rows.flatMap(({ usages }) => usages ?? [])),
    runs: Number(counted[0]!.runs),
    by_model: rows.map(({ model, provider, messages, cost_nano, usages }) => ({
      model,
      provider,
      messages: Number(messages),
      cost_usd: toUsd(cost_nano ?? 0n),
      usage: sumUsage(usages ?? []),
    })),
  }
}

export async function messageCosts(
  ctx: Context,
  { id, cursor, limit }: { id: Id; cursor?: string | undefined; limit: number },
) {
  const after = wholeAt(positionOf('message_costs', id, cursor), 0)
  const rows = await messageStore.all(ctx.db, id, { order: 'asc', after, limit: limit + 1 })
  const ids = [...new Set(rows.flatMap(({ run_id }) => run_id ?? []))]
  const runs = new Map((await runStore.byIds(ctx.db, ids)).map((run) => [run.id, run]))
  return pageOf(
    rows,
    limit,
    ({ seq }) => cursorOf('message_costs', id, [seq]),
    (row) => showMessageCost(row, row.run_id === null ? undefined : runs.get(row.run_id)),
  )
}

const showMessageCost = (row: MessageRow, run: RunRow | undefined): z.output<typeof MessageCost> => ({
  id: row.id,
  role: row.role,
  status: row.status,
  model: row.model,
  provider: row.provider,
  usage: keptUsage(row.usage),
  cost_usd: row.cost_nano === null ? null : toUsd(row.cost_nano),
  run:
    run === undefined
      ? null
      : {
          id: run.id,
          status: run.status,
          attempt: run.attempt,
          usage: keptUsage(run.usage),
          cost_usd: run.cost_nano === null ? null : toUsd(run.cost_nano),
        },
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
