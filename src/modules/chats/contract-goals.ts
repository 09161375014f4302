import { z } from 'zod'
import { base, deleted, endpoint, idOut, inWorkspace, one, time, usd, words } from '#core/contract.ts'
import { positiveUsd } from '#core/money.ts'
import { model } from './contract-messages.ts'
import { RunError } from './contract-runs.ts'

export const Goal = z
  .object({
    ...base,
    ...inWorkspace,
    chat_id: idOut,
    status: z.enum(['active', 'achieved', 'exhausted', 'stalled', 'ended', 'failed']),
    objective: z.string(),
    criteria: z.string().nullable(),
    model: z.string().nullable(),
    judge_model: z.string().nullable(),
    max_turns: z.number().int(),
    max_cost_usd: usd.nullable(),
    max_duration_seconds: z.number().int().nullable(),
    turns_used: z.number().int(),
    spent_usd: usd.describe('Of its turns and of the judge.'),
    exhausted_by: z.enum(['turns', 'cost', 'time']).nullable(),
    last_feedback: z.string().nullable().describe('What the judge found missing, or why the last turn failed.'),
    run_id: idOut.nullable().describe('The turn that is under way or not judged yet.'),
    error: RunError.nullable().describe('Why it failed.'),
    completed_at: time.nullable(),
  })
  .meta({ id: 'Goal' })

const caps = {
  max_cost_usd: positiveUsd.optional().describe('Of its turns and the judge together.'),
  max_duration_seconds: z.number().int().min(1).max(31_536_000).optional().describe('While it is active.'),
}
const aim = words(100_000).refine((text) => text.trim() !== '', 'must say something')
const maxTurns = z.number().int().min(1).max(1_000)

export const goalEndpoints = {
  start_goal: endpoint('POST /chats/:id/goal', {
    summary: 'Start goal mode',
    description:
      'The server continues the active branch turn by turn until a judge, a model call of its own, finds the goal achieved, a cap is reached (`exhausted`), or 3 turns in a row bring no progress (`stalled`). Each turn is a run of the chat. Stopping a turn ends the goal.',
    scope: 'chat:run',
    on: 'chat',
    onShare: 'edit',
    body: {
      objective: aim,
      criteria: aim.optional().describe('What the judge measures by. Default: the objective alone.'),
      max_turns: maxTurns.default(25),
      ...caps,
      model: model.optional().describe('Of its turns. Default: as for an answer.'),
      judge_model: model.optional().describe('Default: the model of its turns.'),
    },
    reply: one(Goal),
    status: 201,
    limit: 'inference',
    errors: ['invalid_state', 'invalid_parameter'],
  }),
  goal: endpoint('GET /chats/:id/goal', {
    summary: 'Read the goal that governs the active branch',
    scope: 'chat:read',
    on: 'chat',
    reply: one(Goal),
  }),
  end_goal: endpoint('DELETE /chats/:id/goal', {
    summary: 'End the active goal and stop its turn',
    description: 'Answers with the id of the goal, which can still be read.',
    scope: 'chat:run',
    on: 'chat',
    onShare: 'edit',
    inAnyStatus: true,
    inArchivedWorkspace: true,
    reply: deleted,
    errors: ['invalid_state'],
  }),
  resume_goal: endpoint('POST /chats/:id/goal/resume', {
    summary: 'Re-open an exhausted or stalled goal with a bigger cap',
    description:
      'Each cap that is given must be bigger than it was, and the one that the goal was exhausted by must be given.',
    scope: 'chat:run',
    consent: 'person',
    on: 'chat',
    onShare: 'edit',
    body: { max_turns: maxTurns.optional(), ...caps },
    reply: one(Goal),
    limit: 'inference',
    errors: ['invalid_state', 'invalid_parameter', 'missing_parameter'],
  }),
}
