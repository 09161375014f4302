import { z } from 'zod'
import { account, byScope, resource } from '#core/access.ts'
import {
  allowedModels,
  area,
  base,
  deleted,
  endpoint,
  id,
  idOut,
  one,
  page,
  period,
  time,
  usd,
} from '#core/contract.ts'
import { roles, scopes } from '#core/scopes.ts'

const name = z.string().trim().min(1).max(120)
const description = z.string().trim().max(2_000).nullable()
const budget = {
  spend_cap_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe(
      'Spend limit per period for all model calls in this workspace. While it’s set, the workspace’s own providers can be used only within it: by keys restricted to the workspace, and in its chats. Null sets no limit.',
    ),
  spend_cap_period: period.describe('UTC: day, ISO week, calendar month, or total.'),
}
export const role = z
  .enum(roles)
  .describe(
    '`viewer` can read, `member` can write and run, `admin` can manage members, keys, caps and exposures, `owner` can delete and transfer the workspace.',
  )
export const permissions = z
  .array(z.enum(scopes))
  .max(scopes.length)
  .nullable()
  .describe('Scopes that restrict the role. Null: all of the role’s permissions.')

const keys = z
  .enum(['any', 'workspace'])
  .describe(
    '`workspace`: only API keys restricted to this workspace (the key’s `workspace_id`) can use models here. Chats, agents and other keys can’t.',
  )
const rules = { keys, allowed_models: allowedModels }
export const limits = {
  spend_cap_usd: budget.spend_cap_usd.describe(
    'Spend limit per period for the member’s model calls in this workspace, including keys, chats, agents and automations on their behalf. Earlier spending counts. When it’s reached, requests fail with `402 budget_reached`. Null sets no limit.',
  ),
  spend_cap_period: budget.spend_cap_period,
  ...rules,
}

export const Workspace = z
  .object({
    ...base,
    name: z.string(),
    description: z.string().nullable(),
    kind: z.enum(['personal', 'team']),
    status: z.enum(['active', 'archived']),
    archived_at: time.nullable(),
    created_by: idOut.nullable(),
    spend_cap_usd: usd.nullable(),
    spend_cap_period: period,
    spent_usd: usd.describe('Amount spent in the current budget period.'),
    keys,
    allowed_models: allowedModels,
    member_count: z.number().int(),
    role: z.enum(roles).describe('The caller’s role.'),
    permissions: z
      .array(z.string())
      .nullable()
      .describe('The caller’s permissions. Null: all of the role’s permissions.'),
  })
  .meta({ id: 'Workspace' })

export const workspaces = area(
  'workspaces',
  { title: 'Workspaces', summary: 'Shared spaces for people and agents.' },
  {
    list: endpoint('GET /workspaces', {
      summary: 'List the caller’s workspaces',
      access: byScope('workspace:read'),
      query: { status: z.enum(['active', 'archived']).default('active').describe('Filters the list by status.') },
      reply: page(Workspace),
    }),
    get: endpoint('GET /workspaces/:id', {
      summary: 'Get a workspace',
      access: resource('workspace', { scope: 'workspace:read' }),
      reply: one(Workspace),
    }),
    create: endpoint('POST /workspaces', {
      summary: 'Create a workspace',
      example: { name: 'Print shop' },
      access: account('workspace:write'),
      body: {
        name,
        description: description.default(null),
        spend_cap_usd: budget.spend_cap_usd.default(null),
        spend_cap_period: budget.spend_cap_period.default('month'),
      },
      reply: one(Workspace),
      status: 201,
      errors: ['limit_reached'],
    }),
    update: endpoint('PATCH /workspaces/:id', {
      summary: 'Update a workspace’s name, description, budget or rules',
      description:
        'The budget covers every model call in the workspace, whether paid with credits or not, including earlier ones. When it’s reached, requests fail with `402 budget_reached`. `keys` and `allowed_models` apply to every member; requests that violate them fail with `403 policy_denied`.',
      access: resource('workspace', { scope: 'workspace:write', role: 'admin' }),
      consent: 'person',
      body: {
        name: name.optional(),
        description: description.optional(),
        ...z.object({ ...budget, ...rules }).partial().shape,
      },
      reply: one(Workspace),
      errors: ['invalid_state'],
    }),
    delete: endpoint('DELETE /workspaces/:id', {
      summary: 'Delete a workspace and all its content',
      description:
        'Deletes content, files and members permanently and revokes keys restricted to the workspace. Billing records and the audit log are kept. The event `workspace.deleted` and the audit log record how much was removed (`removed`). Only an owner can delete a workspace, and must confirm with its name.',
      access: resource('workspace', { scope: 'workspace:write', role: 'owner' }),
      consent: 'person',
      query: { confirm: z.string().describe('The name of the workspace, to confirm.') },
      reply: deleted,
      errors: ['personal_workspace'],
    }),
    archive: endpoint('POST /workspaces/:id/archive', {
      summary: 'Archive a workspace (read-only)',
      access: resource('workspace', { scope: 'workspace:write', role: 'admin' }),
      reply: one(Workspace),
      errors: ['personal_workspace'],
    }),
    unarchive: endpoint('POST /workspaces/:id/unarchive', {
      summary: 'Unarchive a workspace',
      access: resource('workspace', { scope: 'workspace:write', role: 'admin' }),
      reply: one(Workspace),
    }),
  },
)

export const Member = z
  .object({
    ...base,
    workspace_id: idOut,
    user_id: idOut,
    name: z.string(),
    email: z.string(),
    role: z.enum(roles),
    permissions: z.array(z.string()).nullable(),
    spend_cap_usd: usd.nullable(),
    spend_cap_period: period,
    spent_usd: usd
      .nullable()
      .describe('Amount spent in the current budget period. Null unless you’re the member or an admin.'),
    keys,
    allowed_models: allowedModels,
    created_by: idOut.nullable(),
  })
  .meta({ id: 'Member' })

const memberId = 'The ID of the membership or of the user.'

export const members = area(
  'members',
  {
    title: 'Members',
    summary: 'The members of a workspace and their permissions. You can’t grant more than you have.',
  },
  {
    list: endpoint('GET /workspaces/:id/members', {
      summary: 'List the members of a workspace',
      access: resource('workspace', { scope: 'member:read' }),
      reply: page(Member),
    }),
    add: endpoint('POST /workspaces/:id/members', {
      summary: 'Add a member from another workspace',
      description: 'You can add only people you share a workspace with. Invite others by email.',
      access: resource('workspace', { scope: 'member:write', role: 'admin' }),
      consent: 'person',
      body: {
        user_id: id,
        role: role.default('member'),
        permissions: permissions.default(null),
        spend_cap_usd: limits.spend_cap_usd.default(null),
        spend_cap_period: limits.spend_cap_period.default('month'),
      },
      reply: one(Member),
      status: 201,
      errors: ['already_exists', 'personal_workspace', 'limit_reached', 'invalid_state'],
    }),
    update: endpoint('PATCH /workspaces/:id/members/:memberId', {
      summary: 'Change a member’s role, permissions, budget or rules',
      description: `${memberId} To transfer a workspace, make another member an owner. Only an owner can change an admin’s own budget and rules.`,
      access: resource('workspace', { scope: 'member:write', role: 'admin' }),
      consent: 'person',
      body: { role: role.optional(), permissions: permissions.optional(), ...z.object(limits).partial().shape },
      reply: one(Member),
      errors: ['last_owner', 'invalid_state'],
    }),
    remove: endpoint('DELETE /workspaces/:id/members/:memberId', {
      summary: 'Remove a member, or leave',
      description: `${memberId} Everyone except the last owner can leave. Removing others requires the role admin.`,
      // A scope every member has, so that leaving needs no other. The service checks the rule for others.
      access: resource('workspace', { scope: 'member:write', resourceScope: 'user:read' }),
      consent: 'person',
      reply: deleted,
      errors: ['last_owner'],
    }),
  },
)
