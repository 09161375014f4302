import { z } from 'zod'
import { headerName, headerValue } from '#core/text/header-fields.ts'
import {
  area,
  endpoint,
  id,
  idOut,
  lifecycle,
  one,
  page,
  period,
  resourceFields,
  statusFilter,
  time,
  usd,
  workspaceId,
} from '#core/contract.ts'

const policy = z.enum(['allow', 'ask', 'deny'])
const AgentTool = z
  .strictObject({
    name: z.string().trim().min(1).max(128).describe('A tool of this server, such as `chats.list`.'),
    policy: policy.default('ask').describe('`ask` pauses the run until a person allows the call.'),
  })
  .meta({ id: 'AgentTool' })

const serverTools = z
  .array(z.strictObject({ name: z.string().trim().min(1).max(128), policy: policy.default('ask') }))
  .max(200)
  .refine((tools) => new Set(tools.map((tool) => tool.name)).size === tools.length, 'may name each tool once')
const server = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be lower-case letters, digits and hyphens, such as github')
    .describe('Its tools are `mcp__<name>__<tool>` to the model.'),
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .describe('Where it speaks streamable HTTP. Public addresses, and those in `UK_FETCH_ALLOW`.'),
  policy: policy
    .default('ask')
    .describe('Of its tools that `tools` does not name. `deny` leaves only those that are named.'),
  tools: serverTools.default([]),
  timeout_seconds: z.number().int().min(1).max(600).default(60).describe('For one call of a tool.'),
}
const McpServer = z
  .object({ ...server, header_names: z.array(z.string()).describe('Of its `headers`; the values are never shown.') })
  .meta({ id: 'McpServer' })
const givenServers = z
  .array(
    z
      .strictObject({
        ...server,
        headers: z
          .record(headerName, headerValue)
          .refine((headers) => Object.keys(headers).length <= 32, 'may hold 32 headers at most')
          .nullable()
          .optional()
          .describe(
            'Sent with every request, such as `Authorization`; kept sealed, never shown again. Left out: those of the server of this name stay, while it stays at its origin. Null: none.',
          ),
      })
      .meta({ id: 'GivenMcpServer' }),
  )
  .max(16)
  .refine((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, 'may name each server once')
  .describe('Outside servers of the Model Context Protocol whose tools it may use.')

/** The definition of an agent. A change of any of it is a new version. */
const definition = {
  name: z.string().trim().min(1).max(120),
  description: z.string().trim().max(2_000).nullable(),
  system_prompt: z.string().max(200_000).nullable(),
  model: z.string().trim().min(1).max(200).nullable().describe('Null takes the default of whoever talks to it.'),
  tools: z
    .array(AgentTool)
    .max(200)
    .refine((tools) => new Set(tools.map((tool) => tool.name)).size === tools.length, 'may name each tool once')
    .describe('What it may use; a tool that is not named here is not offered to it.'),
  output_schema: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe(
      'A JSON Schema that its answers have to match: it is sent to the provider, and an answer that does not match fails its run. Patterns, formats and schemas that refer to themselves are left to the provider. Null is free text.',
    ),
  max_turns: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .nullable()
    .describe('Model calls per run at most. Null is the default of the server.'),
  subagents: z
    .array(z.strictObject({ agent_id: id, policy: policy.default('ask') }).meta({ id: 'Subagent' }))
    .max(20)
    .refine((all) => new Set(all.map((one) => one.agent_id)).size === all.length, 'may name each agent once')
    .describe(
      'Agents that it may hand tasks to with the tool `delegate`: of its workspace, or shared with whoever talks to it. Each task is a run below its own, in a chat of its own, in the same rights and under the same budgets.',
    ),
}

/** The agent's budget, which is not part of its definition: a change makes no version. */
const budget = {
  spend_cap_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe(
      'What the model calls of its runs may cost per period, whoever talks to it. What was spent before it was set counts. It is reached as `402 budget_reached`. Null has no budget. Who has the agent by a share does not set it.',
    ),
  spend_cap_period: period.describe('UTC: day, ISO week, calendar month, or total.'),
}

export const Agent = z
  .object({
    ...resourceFields,
    ...definition,
    mcp_servers: z.array(McpServer),
    version: z.number().int().describe('Counts up with every change of the fields above; a move is none.'),
    spend_cap_usd: usd.nullable(),
    spend_cap_period: period,
    spent_usd: usd.describe('In the present period of the budget.'),
  })
  .meta({ id: 'Agent' })

export const AgentVersion = z
  .object({
    id: idOut,
    agent_id: idOut,
    version: z.number().int(),
    ...definition,
    mcp_servers: z.array(McpServer),
    created_by: idOut.nullable(),
    created_at: time,
  })
  .meta({ id: 'AgentVersion' })

const target = id.describe('The workspace that it goes to; writing agents there is needed.')

export const agents = area(
  'agents',
  { title: 'Agents', summary: 'Named set-ups of a model: prompt, tools and limits, with their history.' },
  {
    list: endpoint('GET /agents', {
      summary: 'List agents',
      description: 'Newest first, of every workspace that the caller reaches unless one is named.',
      scope: 'agent:read',
      query: { workspace_id: id.optional().describe('Only those of this workspace.'), ...statusFilter },
      reply: page(Agent),
    }),
    get: endpoint('GET /agents/:id', {
      summary: 'Read an agent',
      scope: 'agent:read',
      on: 'agent',
      reply: one(Agent),
    }),
    create: endpoint('POST /agents', {
      summary: 'Create an agent',
      example: { name: 'Editor', system_prompt: 'Answer in one sentence.', model: 'sim/echo' },
      scope: 'agent:write',
      within: 'workspace_id',
      body: {
        workspace_id: workspaceId,
        name: definition.name,
        description: definition.description.default(null),
        system_prompt: definition.system_prompt.default(null),
        model: definition.model.default(null),
        tools: definition.tools.default([]),
        output_schema: definition.output_schema.default(null),
        max_turns: definition.max_turns.default(null),
        mcp_servers: givenServers.default([]),
        subagents: definition.subagents.default([]),
        spend_cap_usd: budget.spend_cap_usd.default(null),
        spend_cap_period: budget.spend_cap_period.default('month'),
      },
      reply: one(Agent),
      status: 201,
    }),
    update: endpoint('PATCH /agents/:id', {
      summary: 'Change an agent; what is left out stays',
      description:
        'Makes the next version. What changes nothing makes none. Budgets are no part of it. Who has it by a share changes all but its tools and its budget. `If-Match` keeps out changes in between.',
      scope: 'agent:write',
      consent: 'person',
      on: 'agent',
      onShare: 'edit',
      body: z.object({ ...definition, ...budget, mcp_servers: givenServers }).partial().shape,
      reply: one(Agent),
      errors: ['invalid_state'],
    }),
    ...lifecycle(Agent, '/agents/:id', 'agent', 'agent:write', 'an agent'),
    move: endpoint('POST /agents/:id/move', {
      summary: 'Move an agent to another workspace',
      scope: 'agent:write',
      consent: 'person',
      on: 'agent',
      body: { workspace_id: target },
      reply: one(Agent),
      errors: ['invalid_state'],
    }),
    copy_to_workspace: endpoint('POST /agents/:id/copy-to-workspace', {
      summary: 'Copy an agent into another workspace',
      description:
        'The copy is independent of the original: name and definition are kept, its history starts anew. The headers of its outside servers stay behind.',
      scope: 'agent:write',
      on: 'agent',
      onScope: 'agent:read',
      body: { workspace_id: target },
      reply: one(Agent),
      status: 201,
      errors: ['invalid_state'],
    }),
    versions: endpoint('GET /agents/:id/versions', {
      summary: 'List the versions of an agent, newest first',
      scope: 'agent:read',
      on: 'agent',
      reply: page(AgentVersion),
      beyond: true,
    }),
  },
)
