import { z } from 'zod'
import { byScope, inWorkspace, resource } from '#core/access.ts'
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
    policy: policy.default('ask').describe('`ask` pauses the run until a person approves the call.'),
  })
  .meta({ id: 'AgentTool' })

const serverTools = z
  .array(z.strictObject({ name: z.string().trim().min(1).max(128), policy: policy.default('ask') }))
  .max(200)
  .refine((tools) => new Set(tools.map((tool) => tool.name)).size === tools.length, 'must name each tool only once')
const server = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must contain only lowercase letters, digits and hyphens, such as github')
    .describe('The server’s name. The model sees its tools as `mcp__<name>__<tool>`.'),
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .describe('The URL of the server (streamable HTTP). It must be a public address or listed in `UK_FETCH_ALLOW`.'),
  policy: policy
    .default('ask')
    .describe('The default for tools not listed in `tools`. `deny` offers only the listed tools.'),
  tools: serverTools.default([]),
  timeout_seconds: z.number().int().min(1).max(600).default(60).describe('The timeout for one tool call.'),
}
const McpServer = z
  .object({
    ...server,
    header_names: z.array(z.string()).describe('The names of the `headers`. Values are never returned.'),
  })
  .meta({ id: 'McpServer' })
const givenServers = z
  .array(
    z
      .strictObject({
        ...server,
        headers: z
          .record(headerName, headerValue)
          .refine((headers) => Object.keys(headers).length <= 32, 'must have at most 32 headers')
          .nullable()
          .optional()
          .describe(
            'Headers sent with every request, such as `Authorization`. They’re encrypted and never returned. If omitted, the headers of the existing server with this name are kept as long as its origin doesn’t change. Null removes them.',
          ),
      })
      .meta({ id: 'GivenMcpServer' }),
  )
  .max(16)
  .refine(
    (servers) => new Set(servers.map(({ name }) => name)).size === servers.length,
    'must name each server only once',
  )
  .describe('External MCP servers whose tools the agent can use.')

/** A change of any of these creates a new version. */
const definition = {
  name: z.string().trim().min(1).max(120),
  description: z.string().trim().max(2_000).nullable(),
  system_prompt: z.string().max(200_000).nullable(),
  model: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .nullable()
    .describe('Null uses the default model of the user who talks to the agent.'),
  tools: z
    .array(AgentTool)
    .max(200)
    .refine((tools) => new Set(tools.map((tool) => tool.name)).size === tools.length, 'must name each tool only once')
    .describe('The tools the agent can use. Tools not listed here aren’t offered to it.'),
  output_schema: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe(
      'A JSON Schema for the agent’s answers. It’s sent to the provider, and a run fails if its answer doesn’t match. Patterns, formats and recursive schemas are enforced only by the provider. Null allows free text.',
    ),
  max_turns: z
    .number()
    .int()
    .min(1)
    .max(1_000)
    .nullable()
    .describe('Maximum number of model calls per run. Null uses the server’s default.'),
  subagents: z
    .array(z.strictObject({ agent_id: id, policy: policy.default('ask') }).meta({ id: 'Subagent' }))
    .max(20)
    .refine((all) => new Set(all.map((one) => one.agent_id)).size === all.length, 'must name each agent only once')
    .describe(
      'Agents this agent can delegate tasks to with the `delegate` tool. They must be in its workspace or shared with the user. Each task is a child run in its own chat, with the same permissions and budgets.',
    ),
}

/** A change of these creates no version. */
const budget = {
  spend_cap_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe(
      'Spend limit per period for the model calls of the agent’s runs, for all users together. Earlier spending counts. When it’s reached, requests fail with `402 budget_reached`. Null sets no limit. Users the agent is shared with can’t change it.',
    ),
  spend_cap_period: period.describe('UTC: day, ISO week, calendar month, or total.'),
}

export const Agent = z
  .object({
    ...resourceFields,
    ...definition,
    mcp_servers: z.array(McpServer),
    version: z
      .number()
      .int()
      .describe('Increases with every change of the fields above. Moving the agent doesn’t change it.'),
    spend_cap_usd: usd.nullable(),
    spend_cap_period: period,
    spent_usd: usd.describe('Amount spent in the current budget period.'),
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

const target = id.describe('The target workspace. You need permission to write agents there.')

export const agents = area(
  'agents',
  {
    title: 'Agents',
    summary: 'Reusable model configurations with a prompt, tools and limits. Every change creates a version.',
  },
  {
    list: endpoint('GET /agents', {
      summary: 'List agents',
      description: 'Newest first. Includes all workspaces the caller can access, unless you filter by workspace.',
      access: byScope('agent:read'),
      query: { workspace_id: id.optional().describe('Only agents in this workspace.'), ...statusFilter },
      reply: page(Agent),
    }),
    get: endpoint('GET /agents/:id', {
      summary: 'Get an agent',
      access: resource('agent', { scope: 'agent:read' }),
      reply: one(Agent),
    }),
    create: endpoint('POST /agents', {
      summary: 'Create an agent',
      description: 'An agent is an assistant with its own prompt, model, tools and limits.',
      example: { name: 'Editor', system_prompt: 'Answer in one sentence.', model: 'sim/echo' },
      access: inWorkspace('agent:write'),
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
      summary: 'Update an agent',
      description:
        'Creates a new version if the definition changes. Budgets aren’t part of it. Users with edit access through a share can change everything except its tools and budget. Send `If-Match` to prevent overwriting concurrent changes.',
      access: resource('agent', { scope: 'agent:write', share: 'edit' }),
      consent: 'person',
      body: z.object({ ...definition, ...budget, mcp_servers: givenServers }).partial().shape,
      reply: one(Agent),
      errors: ['invalid_state'],
    }),
    ...lifecycle(Agent, '/agents/:id', 'agent', 'agent:write', 'an agent'),
    move: endpoint('POST /agents/:id/move', {
      summary: 'Move an agent to another workspace',
      access: resource('agent', { scope: 'agent:write' }),
      consent: 'person',
      body: { workspace_id: target },
      reply: one(Agent),
      errors: ['invalid_state'],
    }),
    copy_to_workspace: endpoint('POST /agents/:id/copy-to-workspace', {
      summary: 'Copy an agent to another workspace',
      description:
        'The copy is independent: it keeps the name and definition, and its version history starts over. Headers of external servers aren’t copied.',
      access: resource('agent', { scope: 'agent:write', resourceScope: 'agent:read' }),
      body: { workspace_id: target },
      reply: one(Agent),
      status: 201,
      errors: ['invalid_state'],
    }),
    versions: endpoint('GET /agents/:id/versions', {
      summary: 'List the versions of an agent, newest first',
      access: resource('agent', { scope: 'agent:read' }),
      reply: page(AgentVersion),
      beyond: true,
    }),
  },
)
