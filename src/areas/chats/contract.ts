import { z } from 'zod'
import {
  area,
  bytes,
  endpoint,
  id,
  idOut,
  inWorkspace,
  lifecycle,
  mediaSource,
  one,
  operation,
  page,
  resourceFields,
  statusFilter,
  stream,
  time,
  usd,
  words,
  workspaceId,
  base,
} from '#kernel/contract.ts'
import { usageSchema } from '#kernel/usage.ts'

// ── what a message holds ─────────────────────────────────────────────────────
const text = words(1_000_000)
const TextPart = z.strictObject({ type: z.literal('text'), text })
const ImagePart = z.strictObject({ type: z.literal('image'), source: mediaSource })
const FilePart = z.strictObject({
  type: z.literal('file'),
  source: mediaSource,
  name: z.string().max(255).nullable().default(null),
})
/** What people send. */
const GivenPart = z.discriminatedUnion('type', [TextPart, ImagePart, FilePart])
/** What models, tools and the platform add. */
export const Part = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    ImagePart,
    FilePart,
    z.object({
      type: z.literal('reasoning'),
      text: z.string(),
      opaque: z.record(z.string(), z.string()).nullable().describe('What the provider wants back unchanged.'),
    }),
    z.object({
      type: z.literal('tool_call'),
      id: z.string(),
      name: z.string(),
      arguments: z.string().describe('JSON text, as the model wrote it.'),
    }),
    z.object({ type: z.literal('tool_result'), tool_call_id: z.string(), output: z.unknown(), is_error: z.boolean() }),
    z.object({ type: z.literal('compaction'), summary: z.string(), until_message_id: idOut.nullable() }),
  ])
  .meta({ id: 'MessagePart' })

const GivenContent = z
  .union([text.transform((text) => [{ type: 'text' as const, text }]), z.array(GivenPart).max(100)])
  .refine((parts) => parts.some((part) => part.type !== 'text' || part.text.trim() !== ''), 'must say something')
  .describe('Text, or parts: text, image, file.')

const model = z.string().min(1).max(200).describe('A model as `GET /models` lists it, such as `openai/gpt-5`.')

export const Chat = z
  .object({
    ...resourceFields,
    title: z.string(),
    title_source: z
      .enum(['default', 'auto', 'user'])
      .describe('Where the title comes from: nobody yet, the first message, or a person.'),
    agent_id: idOut.nullable(),
    model: z.string().nullable().describe('The model of its answers where a message names none.'),
    head_message_id: idOut.nullable().describe('The end of the active branch.'),
    active_run_id: idOut.nullable().describe('The run that is not finished and goes first.'),
    forked_from: z.object({ chat_id: idOut, message_id: idOut.nullable() }).nullable(),
    message_count: z.number().int().describe('On all branches.'),
    last_message_at: time.nullable(),
  })
  .meta({ id: 'Chat' })

export const Message = z
  .object({
    ...base,
    chat_id: idOut,
    parent_id: idOut.nullable().describe('The message before it. Several with one parent are branches.'),
    run_id: idOut.nullable().describe('The run that it started or that wrote it.'),
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    status: z
      .enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed'])
      .describe('`incomplete`: its run was stopped, what had come by then is kept.'),
    content: z.array(Part),
    text: z.string().describe('The text parts of the content, joined.'),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    finish_reason: z.string().nullable(),
    usage: usageSchema.nullable(),
    cost_usd: usd.nullable().describe('Null until it is known, and where the model has no price.'),
    seq: z.number().int().describe('Its number in the chat, in the order of making, across branches.'),
    created_by: idOut.nullable(),
  })
  .meta({ id: 'Message' })

const RunError = z
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
        expires_at: time.nullable().describe('Not decided by then, it is denied and the run goes on. Null: it waits.'),
      }),
    ),
    error: RunError.nullable(),
    usage: usageSchema.nullable().describe('Of all its attempts and steps.'),
    cost_usd: usd.nullable(),
    queued_at: time,
    started_at: time.nullable(),
    completed_at: time.nullable(),
    cancel_requested_at: time.nullable(),
  })
  .meta({ id: 'Run' })

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
    event('run.requires_action', { run: Run }),
    event('message.completed', { message: Message }),
    event('usage', { usage: usageSchema, cost_usd: usd.nullable() }),
    event('run.completed', { run: Run }),
    event('run.failed', { run: Run, error: RunError }),
    event('run.cancelled', { run: Run }),
  ])
  .meta({ id: 'RunEvent' })

export const Cost = z
  .object({
    id: idOut,
    created_at: time,
    cost_usd: usd.describe('Of all runs on all branches; runs of models without a price count 0.'),
    usage: usageSchema,
    runs: z.number().int(),
    by_model: z.array(
      z.object({
        model: z.string(),
        provider: z.string().nullable(),
        messages: z.number().int(),
        cost_usd: usd,
        usage: usageSchema,
      }),
    ),
  })
  .meta({ id: 'ChatCost' })

export const MessageCost = z
  .object({
    ...base,
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    status: z.string(),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    usage: usageSchema.nullable(),
    cost_usd: usd.nullable(),
    run: z
      .object({
        id: idOut,
        status: z.string(),
        attempt: z.number().int(),
        usage: usageSchema.nullable(),
        cost_usd: usd.nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'MessageCost' })

const send = {
  content: GivenContent,
  parent_id: id
    .nullable()
    .optional()
    .describe(
      'The message to go on from: another than the head begins a new branch (an edit, another try). Null begins the chat anew. Default: the head.',
    ),
  model: model
    .optional()
    .describe('For this answer only. Default: of the chat, else of its agent, else of the settings.'),
  on_busy: z
    .enum(['enqueue', 'reject', 'interrupt'])
    .default('enqueue')
    .describe('While another run of the chat is not finished: wait for it, refuse with 409 `chat_busy`, or stop it.'),
} as const
const sendErrors = [
  'invalid_state',
  'chat_busy',
  'insufficient_credits',
  'spend_cap_reached',
  'unpriced_model',
  'no_route',
  'provider_error',
  'timeout',
] as const

const copying = {
  workspace_id: id.describe('Writing chats there is needed.'),
  message_id: id.optional().describe('Where the copy ends.'),
}

const caps = {
  max_cost_usd: z.number().positive().max(1_000_000).optional().describe('Of its turns and the judge together.'),
  max_duration_seconds: z.number().int().min(1).max(31_536_000).optional().describe('While it is active.'),
}
const maxTurns = z.number().int().min(1).max(1_000)

const background = {
  background: z.boolean().default(false).describe('Answers 202 with an operation at once.'),
}

export const chats = area(
  'chats',
  { title: 'Chats', summary: 'Conversations with models and agents: messages on branches, and runs that answer them.' },
  {
    list: endpoint('GET /chats', {
      summary: 'List chats',
      scope: 'chat:read',
      query: {
        ...statusFilter,
        workspace_id: id.optional().describe('Only those of this workspace.'),
        agent_id: id.optional().describe('Only those with this agent.'),
      },
      reply: page(Chat),
    }),
    create: endpoint('POST /chats', {
      summary: 'Create a chat',
      scope: 'chat:write',
      within: 'workspace_id',
      body: {
        workspace_id: workspaceId,
        title: z.string().trim().min(1).max(200).optional().describe('Default: made of the first message.'),
        agent_id: id.nullable().default(null),
        model: model.nullable().default(null),
      },
      reply: one(Chat),
      status: 201,
    }),
    get: endpoint('GET /chats/:id', { summary: 'Read a chat', scope: 'chat:read', on: 'chat', reply: one(Chat) }),
    update: endpoint('PATCH /chats/:id', {
      summary: 'Change title, model, agent, or the active branch',
      scope: 'chat:write',
      on: 'chat',
      onShare: 'edit',
      body: {
        title: z.string().trim().min(1).max(200).optional(),
        agent_id: id.nullable().optional(),
        model: model.nullable().optional(),
        head_message_id: id.optional().describe('Makes the branch active that ends with this message.'),
      },
      reply: one(Chat),
      errors: ['invalid_state'],
    }),
    ...lifecycle(Chat, '/chats/:id', 'chat', 'chat:write', 'a chat'),
    messages: endpoint('GET /chats/:id/messages', {
      summary: 'List messages: the active branch, oldest first',
      scope: 'chat:read',
      on: 'chat',
      query: {
        branch: z.enum(['active', 'all']).default('active').describe('`all`: every branch, in the order of making.'),
        order: z.enum(['asc', 'desc']).default('asc'),
      },
      reply: page(Message),
    }),
    send: endpoint('POST /chats/:id/messages', {
      summary: 'Send a message and wait for the answer',
      description:
        'Answers the finished assistant message with its run. A run that fails answers its error with `details.run_id`. After ten minutes it goes on in the background and answers 202 with an operation. The run belongs to the server: it goes on when the caller leaves.',
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      body: { ...send, ...background },
      reply: operation(Answered),
      limit: 'inference',
      errors: sendErrors,
    }),
    stream: endpoint('POST /chats/:id/messages/stream', {
      summary: 'Send a message and stream the run as Server-Sent Events',
      description:
        'Every event is durable before it is sent, and `id:` is its `seq`. A reader that was cut off goes on at `GET /chats/:id/runs/:run_id/events`.',
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      body: send,
      reply: stream(RunEvent),
      limit: 'inference',
      errors: sendErrors,
    }),
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
      description: 'A new attempt of the same run, whose answer is a new branch beside the failed one.',
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      body: background,
      reply: operation(Answered),
      limit: 'inference',
      errors: sendErrors,
    }),
    actions: endpoint('POST /chats/:id/runs/:run_id/actions', {
      summary: 'Decide the calls that a run waits with',
      description:
        'The run goes on once none is left. `kind` is `approval` where the agent has to ask, and `interrupted` where the server stopped during a call that may have been done: to allow it is to do it again.',
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      body: {
        actions: z
          .array(
            z.strictObject({
              id: z.string().max(1_000),
              decision: z.enum(['allow', 'deny']),
              output: z.unknown().optional().describe('Taken for the result: the call is not carried out.'),
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
    start_goal: endpoint('POST /chats/:id/goal', {
      summary: 'Start goal mode',
      description:
        'The server continues the active branch turn by turn until a judge, a model call of its own, finds the goal achieved, a cap is reached (`exhausted`), or 3 turns in a row bring no progress (`stalled`). Each turn is a run of the chat. Stopping a turn ends the goal.',
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      body: {
        objective: words(100_000),
        criteria: words(100_000).optional().describe('What the judge measures by. Default: the objective alone.'),
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
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      inAnyStatus: true,
      inArchivedWorkspace: true,
      reply: one(Goal),
      errors: ['invalid_state'],
    }),
    resume_goal: endpoint('POST /chats/:id/goal/resume', {
      summary: 'Re-open an exhausted or stalled goal with a bigger cap',
      description:
        'Each cap that is given must be bigger than it was, and the one that the goal was exhausted by must be given.',
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      body: { max_turns: maxTurns.optional(), ...caps },
      reply: one(Goal),
      limit: 'inference',
      errors: ['invalid_state', 'invalid_parameter', 'missing_parameter'],
    }),
    compact: endpoint('POST /chats/:id/compact', {
      summary: 'Begin anew with a summary of the conversation',
      description:
        'A model writes the summary of the active branch, at its own cost; the message with it becomes the head, and the next answer sees nothing older. The old branch stays reachable.',
      scope: 'chat:run',
      on: 'chat',
      onShare: 'edit',
      body: { model: model.optional().describe('Default: as for an answer.') },
      reply: one(Message),
      limit: 'inference',
      errors: ['invalid_state', 'chat_busy', 'stale_update', ...sendErrors.slice(2)],
    }),
    export: endpoint('GET /chats/:id/export', {
      summary: 'Download the transcript, attachments included',
      scope: 'chat:read',
      on: 'chat',
      query: {
        format: z.enum(['markdown', 'json', 'html']).default('markdown'),
        branch: z.enum(['active', 'all']).default('active').describe('`all`: every branch, in the order of making.'),
      },
      reply: bytes,
    }),
    copy_to_agent: endpoint('POST /chats/:id/copy-to-agent', {
      summary: 'Copy a chat to another agent',
      description: 'With every branch, into the workspace of that agent.',
      scope: 'chat:write',
      on: 'chat',
      onScope: 'chat:read',
      body: { agent_id: id },
      reply: one(Chat),
      status: 201,
      errors: ['limit_reached'],
    }),
    copy_to_workspace: endpoint('POST /chats/:id/copy-to-workspace', {
      summary: 'Copy a chat into another workspace',
      description: 'With every branch; with `message_id` only what leads to it. The copy is independent.',
      scope: 'chat:write',
      on: 'chat',
      onScope: 'chat:read',
      body: copying,
      reply: one(Chat),
      status: 201,
      errors: ['limit_reached'],
    }),
    fork_to_workspace: endpoint('POST /chats/:id/fork-to-workspace', {
      summary: 'Fork a chat into another workspace',
      description: 'What leads to `message_id`, or to the head; the fork names where it comes from.',
      scope: 'chat:write',
      on: 'chat',
      onScope: 'chat:read',
      body: copying,
      reply: one(Chat),
      status: 201,
      errors: ['limit_reached'],
    }),
    cost: endpoint('GET /chats/:id/cost', {
      summary: 'What a chat cost, in total and by model',
      scope: 'chat:read',
      on: 'chat',
      reply: one(Cost),
    }),
    message_costs: endpoint('GET /chats/:id/message-costs', {
      summary: 'What each message and its run cost, in the order of making',
      scope: 'chat:read',
      on: 'chat',
      reply: page(MessageCost),
    }),
  },
)
