import { z } from 'zod'
import {
  area,
  bytes,
  endpoint,
  flag,
  id,
  idOut,
  lifecycle,
  one,
  operation,
  page,
  resourceFields,
  statusFilter,
  stream,
  time,
  usd,
  workspaceId,
} from '#core/contract.ts'
import { appEndpoints } from './contract-app.ts'
import { approvalEndpoints } from './contract-approvals.ts'
import { costEndpoints } from './contract-costs.ts'
import { Goal, goalEndpoints } from './contract-goals.ts'
import { importEndpoints } from './contract-import.ts'
import { GivenContent, Message, model } from './contract-messages.ts'
import { Answered, RunEvent, background, runEndpoints, sendErrors } from './contract-runs.ts'

const maxCost = z.number().min(0).max(1_000_000)
const chatsMaxCost = maxCost
  .nullable()
  .describe(
    'What all its model calls together may cost, whoever pays. What was spent before it was set counts. It is reached as `402 budget_reached`, before anything is spent. Null has no budget. Who has the chat by a share does not set it.',
  )

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
    parent_chat_id: idOut
      .nullable()
      .describe(
        'The chat whose agent handed its task to the agent of this one. It is listed only when asked for, and deleted with it.',
      ),
    temporary: z
      .boolean()
      .describe(
        'Only who made it sees it: it is in no list, search or feed of others, and is deleted a day after its last message.',
      ),
    expires_at: time.nullable().describe('When a temporary chat is deleted for good, if nothing more is said.'),
    max_cost_usd: usd.nullable(),
    spent_usd: usd.describe(
      'What counts for `max_cost_usd`: all its model calls, judges, summaries and sub-agents included.',
    ),
    message_count: z.number().int().describe('On all branches.'),
    last_message_at: time.nullable(),
  })
  .meta({ id: 'Chat' })

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
  max_cost_usd: maxCost
    .optional()
    .describe(
      'What this run may spend at most, its tools and sub-agents included. Default: what its chat and its payer may.',
    ),
} as const

const copying = {
  workspace_id: id.describe('Writing chats there is needed.'),
  message_id: id.optional().describe('Where the copy ends.'),
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
        parent_chat_id: id
          .optional()
          .describe('Those in which agents work on tasks of this chat, which else are left out.'),
        temporary: flag.default(false).describe('Your temporary ones, which else are left out.'),
      },
      reply: page(Chat),
    }),
    create: endpoint('POST /chats', {
      summary: 'Create a chat',
      example: { title: 'Autumn', model: 'sim/echo' },
      scope: 'chat:write',
      within: 'workspace_id',
      body: {
        workspace_id: workspaceId,
        title: z.string().trim().min(1).max(200).optional().describe('Default: made of the first message.'),
        agent_id: id.nullable().default(null),
        model: model.nullable().default(null),
        max_cost_usd: chatsMaxCost.default(null),
        temporary: z
          .boolean()
          .default(false)
          .describe('Only you see it, and it is deleted for good 24 hours after its last message.'),
      },
      reply: one(Chat),
      status: 201,
    }),
    get: endpoint('GET /chats/:id', { summary: 'Read a chat', scope: 'chat:read', on: 'chat', reply: one(Chat) }),
    update: endpoint('PATCH /chats/:id', {
      summary: 'Change title, model, agent, budget, or the active branch; keep a temporary one',
      scope: 'chat:write',
      consent: 'person',
      on: 'chat',
      onShare: 'edit',
      body: {
        title: z.string().trim().min(1).max(200).optional(),
        agent_id: id.nullable().optional(),
        model: model.nullable().optional(),
        max_cost_usd: chatsMaxCost.optional(),
        head_message_id: id.optional().describe('Makes the branch active that ends with this message.'),
        temporary: z
          .literal(false)
          .optional()
          .describe(
            'Keeps a temporary chat, which its workspace sees from then on. A kept one does not become temporary.',
          ),
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
      example: { content: 'Hello' },
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
      example: { content: 'Hello' },
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
    ...runEndpoints,
    ...goalEndpoints,
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
    ...importEndpoints,
    ...costEndpoints,
    ...approvalEndpoints,
    ...appEndpoints(Chat, Goal),
  },
)
