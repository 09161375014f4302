import { z } from 'zod'
import { resource } from '#core/access.ts'
import { base, deleted, endpoint, idOut, workspaceFields, one, time, usd, words } from '#core/contract.ts'
import { positiveUsd } from '#core/money.ts'
import { model } from './contract-messages.ts'
import { RunError } from './contract-runs.ts'

export const Goal = z
  .object({
    ...base,
    ...workspaceFields,
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
    spent_usd: usd.describe('Cost of its turns and the judge.'),
    exhausted_by: z.enum(['turns', 'cost', 'time']).nullable(),
    last_feedback: z.string().nullable().describe('What the judge found missing, or why the last turn failed.'),
    run_id: idOut.nullable().describe('The current turn, or one that hasn’t been judged yet.'),
    error: RunError.nullable().describe('Why the goal failed.'),
    completed_at: time.nullable(),
  })
  .meta({ id: 'Goal' })

const caps = {
  max_cost_usd: positiveUsd.optional().describe('Cost limit for its turns and the judge together.'),
  max_duration_seconds: z.number().int().min(1).max(31_536_000).optional().describe('Set while the goal is active.'),
}
const aim = words(100_000).refine((text) => text.trim() !== '', 'must not be empty')
const maxTurns = z.number().int().min(1).max(1_000)

export const goalEndpoints = {
  start_goal: endpoint('POST /chats/:id/goal', {
    summary: 'Start a goal',
    description:
      'The server continues the active branch turn by turn until a judge (a separate model call) finds the goal achieved, a limit is reached (`exhausted`), or 3 turns in a row make no progress (`stalled`). Each turn is a run of the chat. Stopping a turn ends the goal.',
    access: resource('chat', { scope: 'chat:run', share: 'edit' }),
    body: {
      objective: aim,
      criteria: aim.optional().describe('The criteria the judge uses. Default: the objective alone.'),
      max_turns: maxTurns.default(25),
      ...caps,
      model: model.optional().describe('The model for its turns. Default: the chat’s usual model.'),
      judge_model: model.optional().describe('The model for the judge. Default: the model of the turns.'),
    },
    reply: one(Goal),
    status: 201,
    limit: 'inference',
    errors: ['invalid_state', 'invalid_parameter'],
  }),
  goal: endpoint('GET /chats/:id/goal', {
    summary: 'Get the goal of the active branch',
    access: resource('chat', { scope: 'chat:read' }),
    reply: one(Goal),
  }),
  end_goal: endpoint('DELETE /chats/:id/goal', {
    summary: 'End the active goal and stop its turn',
    description: 'Returns the ID of the goal. The goal can still be read.',
    access: resource('chat', { scope: 'chat:run', share: 'edit', inTrash: true, inArchivedWorkspace: true }),
    reply: deleted,
    errors: ['invalid_state'],
  }),
  resume_goal: endpoint('POST /chats/:id/goal/resume', {
    summary: 'Resume an exhausted or stalled goal with a higher limit',
    description: 'Each limit you send must be higher than before. The limit that exhausted the goal is required.',
    access: resource('chat', { scope: 'chat:run', share: 'edit' }),
    consent: 'person',
    body: { max_turns: maxTurns.optional(), ...caps },
    reply: one(Goal),
    limit: 'inference',
    errors: ['invalid_state', 'invalid_parameter', 'missing_parameter'],
  }),
}
