import type { AgentRow } from '#modules/agents/service.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'
import type { Budget, Nano } from '#core/money.ts'
import type { Period } from '#core/time.ts'
import type { RunRow } from './run-store.ts'

/** The budgets that count a run's calls. Calls count toward each ancestor's budgets too. */
export interface RunBudgets {
  run_id: Id
  budget_nano: Nano | null
  chat_id: Id
  chat_nano: Nano | null
  goal_id: Id | null
  goal_nano: Nano | null
  agent_id: Id | null
  agent_nano: Nano | null
  agent_period: Period | null
  automation_run_id: Id | null
}

export async function lineageOf({ pool }: Postgres, runId: Id): Promise<RunBudgets[]> {
  const { rows } = await pool.query<RunBudgets>({
    name: 'runs_lineage',
    text: `with recursive up as (
        select id, parent_run_id, budget_nano, chat_id, goal_id, agent_id, automation_run_id, 0 as height from runs where id = $1
        union all
        select p.id, p.parent_run_id, p.budget_nano, p.chat_id, p.goal_id, p.agent_id, p.automation_run_id, u.height + 1
          from up u join runs p on p.id = u.parent_run_id
      )
      select u.id as run_id, u.budget_nano, u.chat_id, c.max_cost_nano as chat_nano, u.goal_id, g.max_cost_nano as goal_nano,
        u.agent_id, a.spend_cap_nano as agent_nano, a.spend_cap_period as agent_period,
        u.automation_run_id
      from up u left join chats c on c.id = u.chat_id left join goals g on g.id = u.goal_id
        left join agents a on a.id = u.agent_id
      order by u.height`,
    values: [runId],
  })
  return rows
}

/** Budgets of a run without a goal or a parent. */
export const ownBudgets = (
  run: Pick<RunRow, 'id' | 'budget_nano' | 'chat_id' | 'agent_id' | 'automation_run_id'>,
  agent: Pick<AgentRow, 'spend_cap_nano' | 'spend_cap_period'> | null,
  chatNano: Nano | null,
): RunBudgets => ({
  run_id: run.id,
  budget_nano: run.budget_nano,
  chat_id: run.chat_id,
  chat_nano: chatNano,
  goal_id: null,
  goal_nano: null,
  agent_id: run.agent_id,
  agent_nano: agent?.spend_cap_nano ?? null,
  agent_period: agent?.spend_cap_period ?? null,
  automation_run_id: run.automation_run_id,
})

const PERIODS: readonly Period[] = ['day', 'week', 'month', 'total']

/** Counts an agent's spend in every period, so that a budget set later includes earlier spend. */
const ofAgent = (id: Id, nano: Nano | null, within: Period | null): Budget[] =>
  PERIODS.map((period) => ({ kind: 'agent', subject: id, nano: period === within ? nano : null, period }))

export const chatBudget = (id: Id, nano: Nano | null): Budget => ({ kind: 'chat', subject: id, nano, period: 'total' })

/** Returns the budgets that limit a call: those of its run, goal, chat and agent, and of every ancestor run. */
export function budgetsOf(lineage: readonly RunBudgets[]): Budget[] {
  const budgets = lineage.flatMap((run): Budget[] => [
    ...(run.budget_nano === null
      ? []
      : [{ kind: 'run' as const, subject: run.run_id, nano: run.budget_nano, period: 'total' as const }]),
    ...(run.goal_id === null
      ? []
      : [{ kind: 'goal' as const, subject: run.goal_id, nano: run.goal_nano, period: 'total' as const }]),
    chatBudget(run.chat_id, run.chat_nano),
    ...(run.agent_id === null ? [] : ofAgent(run.agent_id, run.agent_nano, run.agent_period)),
  ])
  // A chat or agent that appears in the lineage twice counts once.
  return [...new Map(budgets.map((budget) => [`${budget.subject} ${budget.period}`, budget])).values()]
}

/** A goal's judge counts toward the goal and the chat only: its calls aren't the agent's work. */
export const judgesBudgets = (lineage: readonly RunBudgets[]): Budget[] =>
  budgetsOf(lineage).filter(({ kind }) => kind === 'goal' || kind === 'chat')
