import { z } from 'zod'
import { byScope, inWorkspace, resource } from '#core/access.ts'
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
    'Spend limit for all model calls of the chat, regardless of who pays. Earlier spending counts. When it’s reached, requests fail with `402 budget_reached` before anything is spent. Null sets no limit. Users the chat is shared with can’t change it.',
  )

export const Chat = z
  .object({
    ...resourceFields,
    title: z.string(),
    title_source: z
      .enum(['default', 'auto', 'user'])
      .describe('Where the title comes from: `default` (not set yet), `auto` (from the first message) or `user`.'),
    agent_id: idOut.nullable(),
    model: z.string().nullable().describe('The default model for the chat’s answers.'),
    head_message_id: idOut.nullable().describe('The last message of the active branch.'),
    active_run_id: idOut.nullable().describe('The active run that is first in the queue.'),
    forked_from: z.object({ chat_id: idOut, message_id: idOut.nullable() }).nullable(),
    parent_chat_id: idOut
      .nullable()
      .describe(
        'The chat whose agent delegated its task to this chat’s agent. Such chats are listed only on request, and are deleted with their parent.',
      ),
    temporary: z
      .boolean()
      .describe(
        'Temporary chats are visible only to their creator, appear in no lists, search results or events of others, and are deleted 24 hours after the last message.',
      ),
    expires_at: time
      .nullable()
      .describe('When the temporary chat is permanently deleted, unless another message is sent.'),
    max_cost_usd: usd.nullable(),
    spent_usd: usd.describe(
      'The spending that counts toward `max_cost_usd`: all model calls, including judges, summaries and subagents.',
    ),
    message_count: z.number().int().describe('The number of messages on all branches.'),
    last_message_at: time.nullable(),
  })
  .meta({ id: 'Chat' })

const send = {
  content: GivenContent,
  parent_id: id
    .nullable()
    .optional()
    .describe(
      'The message to reply to. Any message other than the head starts a new branch (an edit or another try). Null starts from an empty conversation. Default: the head.',
    ),
  model: model
    .optional()
    .describe(
      'The model for this answer only. Default: the chat’s model, otherwise its agent’s, otherwise the one in your settings.',
    ),
  on_busy: z
    .enum(['enqueue', 'reject', 'interrupt'])
    .default('enqueue')
    .describe(
      'What to do while another run of the chat is active: `enqueue` waits for it, `reject` fails with 409 `chat_busy`, `interrupt` stops it.',
    ),
  max_cost_usd: maxCost
    .optional()
    .describe(
      'Spend limit for this run, including its tools and subagents. Default: the limits of the chat and the payer.',
    ),
} as const

const copying = {
  workspace_id: id.describe('The target workspace. You need permission to write chats there.'),
  message_id: id.optional().describe('The last message to copy.'),
}

export const chats = area(
  'chats',
  {
    title: 'Chats',
    summary: 'Conversations with models and agents, made of messages on branches and runs that answer them.',
  },
  {
    list: endpoint('GET /chats', {
      summary: 'List chats',
      access: byScope('chat:read'),
      query: {
        ...statusFilter,
        workspace_id: id.optional().describe('Only chats in this workspace.'),
        agent_id: id.optional().describe('Only chats with this agent.'),
        parent_chat_id: id
          .optional()
          .describe('Chats in which agents work on tasks of this chat. Other lists leave them out.'),
        temporary: flag.default(false).describe('Your temporary chats. Other lists leave them out.'),
      },
      reply: page(Chat),
    }),
    create: endpoint('POST /chats', {
      summary: 'Create a chat',
      example: { title: 'Autumn', model: 'sim/echo' },
      access: inWorkspace('chat:write'),
      body: {
        workspace_id: workspaceId,
        title: z.string().trim().min(1).max(200).optional().describe('Default: generated from the first message.'),
        agent_id: id.nullable().default(null),
        model: model.nullable().default(null),
        max_cost_usd: chatsMaxCost.default(null),
        temporary: z
          .boolean()
          .default(false)
          .describe('Only you can see the chat, and it’s permanently deleted 24 hours after its last message.'),
      },
      reply: one(Chat),
      status: 201,
    }),
    get: endpoint('GET /chats/:id', {
      summary: 'Get a chat',
      access: resource('chat', { scope: 'chat:read' }),
      reply: one(Chat),
    }),
    update: endpoint('PATCH /chats/:id', {
      summary: 'Update a chat’s title, model, agent, budget or active branch, or keep a temporary chat',
      access: resource('chat', { scope: 'chat:write', share: 'edit' }),
      consent: 'person',
      body: {
        title: z.string().trim().min(1).max(200).optional(),
        agent_id: id.nullable().optional(),
        model: model.nullable().optional(),
        max_cost_usd: chatsMaxCost.optional(),
        head_message_id: id.optional().describe('Makes the branch that ends with this message the active one.'),
        temporary: z
          .literal(false)
          .optional()
          .describe(
            'Keeps a temporary chat and makes it visible to its workspace. A regular chat can’t become temporary.',
          ),
      },
      reply: one(Chat),
      errors: ['invalid_state'],
    }),
    ...lifecycle(Chat, '/chats/:id', 'chat', 'chat:write', 'a chat'),
    messages: endpoint('GET /chats/:id/messages', {
      summary: 'List the messages of a chat',
      access: resource('chat', { scope: 'chat:read' }),
      query: {
        branch: z
          .enum(['active', 'all'])
          .default('active')
          .describe('`active`: the active branch, oldest first. `all`: all branches, in order of creation.'),
        order: z.enum(['asc', 'desc']).default('asc'),
      },
      reply: page(Message),
    }),
    send: endpoint('POST /chats/:id/messages', {
      summary: 'Send a message and wait for the answer',
      example: { content: 'Hello' },
      description:
        'Returns the finished assistant message and its run. If the run fails, returns its error with `details.run_id`. After 10 minutes, the run continues in the background and the response is 202 with an operation. The run doesn’t stop if you disconnect.',
      access: resource('chat', { scope: 'chat:run', share: 'edit' }),
      body: { ...send, ...background },
      reply: operation(Answered),
      limit: 'inference',
      errors: sendErrors,
    }),
    stream: endpoint('POST /chats/:id/messages/stream', {
      summary: 'Send a message and stream the run as server-sent events',
      example: { content: 'Hello' },
      description:
        'Every event is stored before it’s sent, and `id:` is its `seq`. To resume an interrupted stream, use `GET /chats/:id/runs/:run_id/events`.',
      access: resource('chat', { scope: 'chat:run', share: 'edit' }),
      body: send,
      reply: stream(RunEvent),
      limit: 'inference',
      errors: sendErrors,
    }),
    ...runEndpoints,
    ...goalEndpoints,
    compact: endpoint('POST /chats/:id/compact', {
      summary: 'Compact a chat',
      description:
        'A model summarizes the active branch, which is billed like any model call. The summary becomes the head, and later answers don’t see older messages. The previous branch is kept.',
      access: resource('chat', { scope: 'chat:run', share: 'edit' }),
      body: { model: model.optional().describe('The model for the summary. Default: the chat’s usual model.') },
      reply: one(Message),
      limit: 'inference',
      errors: ['invalid_state', 'chat_busy', 'stale_update', ...sendErrors.slice(2)],
    }),
    export: endpoint('GET /chats/:id/export', {
      summary: 'Export the transcript with attachments',
      access: resource('chat', { scope: 'chat:read' }),
      query: {
        format: z.enum(['markdown', 'json', 'html']).default('markdown'),
        branch: z
          .enum(['active', 'all'])
          .default('active')
          .describe('`active`: the active branch. `all`: all branches, in order of creation.'),
      },
      reply: bytes,
    }),
    copy_to_agent: endpoint('POST /chats/:id/copy-to-agent', {
      summary: 'Copy a chat to another agent',
      description: 'Copies all branches to the agent’s workspace.',
      access: resource('chat', { scope: 'chat:write', resourceScope: 'chat:read' }),
      body: { agent_id: id },
      reply: one(Chat),
      status: 201,
      errors: ['limit_reached'],
    }),
    copy_to_workspace: endpoint('POST /chats/:id/copy-to-workspace', {
      summary: 'Copy a chat to another workspace',
      description:
        'Copies all branches, or with `message_id` only the messages that lead to it. The copy is independent.',
      access: resource('chat', { scope: 'chat:write', resourceScope: 'chat:read' }),
      body: copying,
      reply: one(Chat),
      status: 201,
      errors: ['limit_reached'],
    }),
    fork_to_workspace: endpoint('POST /chats/:id/fork-to-workspace', {
      summary: 'Fork a chat to another workspace',
      description:
        'Copies the messages that lead to `message_id`, or to the head. The fork’s `forked_from` names its source.',
      access: resource('chat', { scope: 'chat:write', resourceScope: 'chat:read' }),
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
