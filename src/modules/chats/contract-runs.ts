import { z } from 'zod'
import { base, endpoint, id, idOut, inWorkspace, one, operation, page, stream, time, usd } from '#core/contract.ts'
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
    ...inWorkspace,
    chat_id: idOut,
    agent_id: idOut.nullable(),
    goal_id: idOut.nullable(),
    parent_run_id: idOut.nullable().describe('The run whose agent began this one.'),
    status: z.enum(['queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled']),
    status_reason: z.string().nullable().describe('Why it waits: `chat_busy` behind another run, `restarted`.'),
    on_busy: z.enum(['enqueue', 'reject', 'interrupt']),
    attempt: z.number().int().describe('Grows with every retry.'),
    model: z.string(),
    input_message_id: idOut,
    output_message_id: idOut.nullable().describe('Of the newest attempt.'),
    pending_actions: z.array(
      z.object({
        id: z.string(),
        kind: z.string(),
        tool: z.string(),
        arguments: z.unknown(),
        can_remember: z
          .boolean()
          .describe('Whoever sent the message may allow it for the rest of the chat: `remember` of a decision.'),
        expires_at: time.nullable().describe('Not decided by then, it is denied and the run goes on. Null: it waits.'),
      }),
    ),
    error: RunError.nullable(),
    usage: usageSchema.nullable().describe('Of all its attempts and steps.'),
    max_cost_usd: usd.nullable().describe('What it may spend at most.'),
    cost_usd: usd.nullable().describe('Of its attempts and steps, and of the runs that its agent began.'),
    children_cost_usd: usd.describe('The part of it that those runs cost.'),
    queued_at: time,
    started_at: time.nullable(),
    completed_at: time.nullable(),
    cancel_requested_at: time.nullable(),
  })
  .meta({ id: 'Run' })

export const Answered = Message.extend({ run: Run }).meta({ id: 'AnsweredMessage' })

// ── the log of a run ─────────────────────────────────────────────────────────
const stamp = { seq: z.number().int().describe('Gap-free per run, from 1.'), run_id: idOut, at: time }
const event = <const E extends string, const S extends z.ZodRawShape>(name: E, data: S) =>
  z.object({ event: z.literal(name), data: z.object({ ...stamp, ...data }) })
const delta = { message_id: idOut, index: z.number().int().describe('Which part of the content.'), delta: z.string() }

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
      chat_id: idOut.describe('Where the agent works on the task.'),
      run_id: idOut,
    }),
    event('mcp_server.error', {
      server: z.string(),
      message: z.string().describe('Why its tools, or some of them, are not there in this run.'),
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
    .describe('Answers 202 with an operation at once, which ends as the run does, or when the run needs a person.'),
}

export const runEndpoints = {
  runs: endpoint('GET /chats/:id/runs', {
    summary: 'List runs, newest first',
    scope: 'chat:read',
    on: 'chat',
    query: {
      status: z.enum(['queued', 'running', 'requires_action', 'completed', 'failed', 'cancelled']).optional(),
    },
    reply: page(Run),
  }),
  run: endpoint('GET /chats/:id/runs/:run_id', {
    summary: 'Read a run',
    scope: 'chat:read',
    on: 'chat',
    reply: one(Run),
    beyond: true,
  }),
  events: endpoint('GET /chats/:id/runs/:run_id/events', {
    summary: 'Stream a run from its beginning, or from behind an event',
    description:
      'Resumes with the header `Last-Event-ID`, or with `last_event_id`. Ends after the last event of a finished run.',
    scope: 'chat:read',
    on: 'chat',
    query: { last_event_id: z.coerce.number().int().min(0).default(0).describe('The `seq` after which to go on.') },
    reply: stream(RunEvent),
    beyond: true,
  }),
  retry: endpoint('POST /chats/:id/runs/:run_id/retry', {
    summary: 'Try a failed run again and wait for the answer',
    description:
      'A new attempt of the same run, whose answer is a new branch beside the failed one. A message that named a model when it was sent keeps it; else the model of the chat is chosen anew, as for a new message.',
    scope: 'chat:run',
    on: 'chat',
    onShare: 'edit',
    body: {
      model: model
        .optional()
        .describe('For this attempt. Default: the one that the message named, else that of the chat as it is now.'),
      ...background,
    },
    reply: operation(Answered),
    limit: 'inference',
    errors: sendErrors,
  }),
  actions: endpoint('POST /chats/:id/runs/:run_id/actions', {
    summary: 'Decide the calls that a run waits with',
    description:
      'The run goes on once none is left. `kind` is `approval` where the agent has to ask, and `interrupted` where the server stopped during a call that may have been done: to allow it is to do it again; `subagent` where an agent that was handed a task waits for a person in the chat that the arguments name: it goes on by itself once that has ended.',
    scope: 'chat:run',
    consent: 'person',
    on: 'chat',
    onShare: 'edit',
    body: {
      actions: z
        .array(
          z.strictObject({
            id: z.string().max(1_000),
            decision: z.enum(['allow', 'deny']),
            output: z.unknown().optional().describe('Taken for the result: the call is not carried out.'),
            remember: z
              .literal('chat')
              .optional()
              .describe(
                'With `allow`: the tool is not asked about again in this chat, for your messages and this version of the agent.',
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
    summary: 'Stop the active run; what it wrote is kept',
    scope: 'chat:run',
    on: 'chat',
    onShare: 'edit',
    inAnyStatus: true,
    inArchivedWorkspace: true,
    body: { run_id: id.optional().describe('A run that waits behind it, say. Default: the active one.') },
    reply: one(Run),
    errors: ['invalid_state'],
  }),
}
