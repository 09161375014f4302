import { z } from 'zod'
import { resource } from '#core/access.ts'
import { base, endpoint, id, idOut, workspaceFields, one, operation, page, stream, time, usd } from '#core/contract.ts'
import { usageSchema } from '#core/usage.ts'
import { Message, model } from './contract-messages.ts'

export const RunError = z
  .object({
    type: z.string(),
    message: z.string(),
    code: z.string().optional(),
    param: z.string().optional(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'RunError' })

export const Run = z
  .object({
    ...base,
    ...workspaceFields,
    chat_id: idOut,
    agent_id: idOut.nullable(),
    goal_id: idOut.nullable(),
    parent_run_id: idOut.nullable().describe('The run whose agent started this run.'),
    status: z.enum(['queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled']),
    status_reason: z
      .string()
      .nullable()
      .describe('Why the run is waiting: `chat_busy` (another run is active) or `restarted`.'),
    on_busy: z.enum(['enqueue', 'reject', 'interrupt']),
    attempt: z.number().int().describe('The attempt number. It increases with every retry.'),
    model: z.string(),
    input_message_id: idOut,
    output_message_id: idOut.nullable().describe('From the latest attempt.'),
    pending_actions: z.array(
      z.object({
        id: z.string(),
        kind: z.string(),
        tool: z.string(),
        arguments: z.unknown(),
        can_remember: z
          .boolean()
          .describe(
            'Whether the user who sent the message can allow the call for the rest of the chat, with `remember`.',
          ),
        expires_at: time
          .nullable()
          .describe(
            'If no decision is made by then, the call is denied and the run continues. Null: it waits without a limit.',
          ),
      }),
    ),
    error: RunError.nullable(),
    usage: usageSchema.nullable().describe('Totals of all attempts and steps.'),
    max_cost_usd: usd.nullable().describe('The run’s spend limit.'),
    cost_usd: usd.nullable().describe('Cost of all attempts and steps, and of the runs its agent started.'),
    children_cost_usd: usd.describe('The part of the cost from runs its agent started.'),
    queued_at: time,
    started_at: time.nullable(),
    completed_at: time.nullable(),
    cancel_requested_at: time.nullable(),
  })
  .meta({ id: 'Run' })

export const Answered = Message.extend({ run: Run }).meta({ id: 'AnsweredMessage' })

// ── run events ───────────────────────────────────────────────────────────────
const stamp = {
  seq: z.number().int().describe('The sequence number, starting at 1, without gaps.'),
  run_id: idOut,
  at: time,
}
const event = <const E extends string, const S extends z.ZodRawShape>(name: E, data: S) =>
  z.object({ event: z.literal(name), data: z.object({ ...stamp, ...data }) })
const delta = {
  message_id: idOut,
  index: z.number().int().describe('The index of the content part.'),
  delta: z.string(),
}

export const RunEvent = z
  .discriminatedUnion('event', [
    event('run.started', { run: Run }),
    event('message.started', { message: Message }),
    event('text.delta', delta),
    event('reasoning.delta', delta),
    event('tool_call.started', { tool_call_id: z.string(), name: z.string() }),
    event('tool_call.delta', { tool_call_id: z.string(), delta: z.string() }),
    event('tool_call.completed', { tool_call_id: z.string(), name: z.string(), arguments: z.string() }),
    event('tool_result', { tool_call_id: z.string(), output: z.unknown(), is_error: z.boolean() }),
    event('subagent.started', {
      tool_call_id: z.string(),
      agent_id: idOut,
      chat_id: idOut.describe('The chat in which the agent works on the task.'),
      run_id: idOut,
    }),
    event('mcp_server.error', {
      server: z.string(),
      message: z.string().describe('Why some or all of the server’s tools aren’t available in this run.'),
    }),
    event('run.requires_action', { run: Run }),
    event('message.completed', { message: Message }),
    event('usage', { usage: usageSchema, cost_usd: usd.nullable() }),
    event('run.completed', { run: Run }),
    event('run.failed', { run: Run, error: RunError }),
    event('run.cancelled', { run: Run }),
  ])
  .meta({ id: 'RunEvent' })

export const sendErrors = [
  'invalid_state',
  'chat_busy',
  'budget_reached',
  'insufficient_credits',
  'spend_cap_reached',
  'unpriced_model',
  'no_route',
  'provider_error',
  'timeout',
] as const

export const background = {
  background: z
    .boolean()
    .default(false)
    .describe(
      'Returns 202 with an operation right away. The operation finishes when the run does, or when the run needs a person.',
    ),
}

export const runEndpoints = {
  runs: endpoint('GET /chats/:id/runs', {
    summary: 'List runs, newest first',
    access: resource('chat', { scope: 'chat:read' }),
    query: {
      status: z.enum(['queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled']).optional(),
    },
    reply: page(Run),
  }),
  run: endpoint('GET /chats/:id/runs/:run_id', {
    summary: 'Get a run',
    access: resource('chat', { scope: 'chat:read' }),
    reply: one(Run),
    beyond: true,
  }),
  events: endpoint('GET /chats/:id/runs/:run_id/events', {
    summary: 'Stream a run’s events',
    description:
      'Streams from the first event, or resumes after the event in the `Last-Event-ID` header or `last_event_id`. The stream ends after the last event of a finished run.',
    access: resource('chat', { scope: 'chat:read' }),
    query: {
      last_event_id: z.coerce
        .number()
        .int()
        .min(0)
        .default(0)
        .describe('The `seq` of the last event received. The stream continues after it.'),
    },
    reply: stream(RunEvent),
    beyond: true,
  }),
  retry: endpoint('POST /chats/:id/runs/:run_id/retry', {
    summary: 'Retry a failed run and wait for the answer',
    description:
      'Starts a new attempt of the same run. Its answer is a new branch next to the failed one. If the message named a model, it’s used again; otherwise, the model is chosen as for a new message.',
    access: resource('chat', { scope: 'chat:run', share: 'edit' }),
    body: {
      model: model
        .optional()
        .describe(
          'The model for this attempt. Default: the model named by the message, otherwise the chat’s current model.',
        ),
      ...background,
    },
    reply: operation(Answered),
    limit: 'inference',
    errors: sendErrors,
  }),
  actions: endpoint('POST /chats/:id/runs/:run_id/actions', {
    summary: 'Decide on pending tool calls',
    description:
      'The run continues once all calls are decided. `kind` is `approval` for calls that need approval, `interrupted` if the server stopped during a call that might have been made (allowing it makes the call again), and `subagent` if a delegated task waits for a person in the chat named in the arguments (the run continues when that task finishes).',
    access: resource('chat', { scope: 'chat:run', share: 'edit' }),
    consent: 'person',
    body: {
      actions: z
        .array(
          z.strictObject({
            id: z.string().max(1_000),
            decision: z.enum(['allow', 'deny']),
            output: z.unknown().optional().describe('Used as the tool’s result. The call isn’t made.'),
            remember: z
              .literal('chat')
              .optional()
              .describe(
                'With `allow`: don’t ask about this tool again in this chat, for your messages and this version of the agent.',
              ),
          }),
        )
        .min(1)
        .max(200),
    },
    reply: one(Run),
    errors: ['invalid_state', 'not_found'],
    beyond: true,
  }),
  stop: endpoint('POST /chats/:id/stop', {
    summary: 'Stop a run and keep its output',
    access: resource('chat', { scope: 'chat:run', share: 'edit', inTrash: true, inArchivedWorkspace: true }),
    body: { run_id: id.optional().describe('The run to stop, such as one that is waiting. Default: the active run.') },
    reply: one(Run),
    errors: ['invalid_state'],
  }),
}
