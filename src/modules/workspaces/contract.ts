import { z } from 'zod'
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
      'What model calls in this workspace may cost per period, whoever makes them. While there is one, its own providers serve only in it: by keys that are held to it, and in its chats. Null has no budget.',
    ),
  spend_cap_period: period.describe('UTC: day, ISO week, calendar month, or total.'),
}
export const role = z
  .enum(roles)
  .describe(
    '`viewer` reads, `member` writes and runs, `admin` manages members, keys, caps and exposures, `owner` deletes and transfers.',
  )
export const permissions = z
  .array(z.enum(scopes))
  .max(scopes.length)
  .nullable()
  .describe('Scopes that narrow the role; null is all that the role may.')

const keys = z
  .enum(['any', 'workspace'])
  .describe(
    '`workspace`: models here only by API keys that are held to this workspace (`workspace_id` of the key); chats, agents and other keys call none.',
  )
const rules = { keys, allowed_models: allowedModels }
/** The limits of one member's spending and calls. */
export const limits = {
  spend_cap_usd: budget.spend_cap_usd.describe(
    'What the member’s model calls in this workspace may cost per period, whatever makes them: keys, chats, agents and automations on their behalf. What was spent before counts. Reached as `402 budget_reached`. Null has no budget.',
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
    spent_usd: usd.describe('In the present period of the budget.'),
    keys,
    allowed_models: allowedModels,
    member_count: z.number().int(),
    role: z.enum(roles).describe('Of the caller.'),
    permissions: z.array(z.string()).nullable().describe('Of the caller; null is all of the role.'),
  })
  .meta({ id: 'Workspace' })

export const workspaces = area(
  'workspaces',
  { title: 'Workspaces', summary: 'Where people and agents keep what they share.' },
  {
    list: endpoint('GET /workspaces', {
      summary: 'List the workspaces of the caller',
      scope: 'workspace:read',
      query: { status: z.enum(['active', 'archived']).default('active').describe('Which of them to list.') },
      reply: page(Workspace),
    }),
    get: endpoint('GET /workspaces/:id', {
      summary: 'Read a workspace',
      scope: 'workspace:read',
      on: 'workspace',
      reply: one(Workspace),
    }),
    create: endpoint('POST /workspaces', {
      summary: 'Create a workspace; the caller becomes its owner',
      example: { name: 'Print shop' },
      scope: 'workspace:write',
      ofAccount: true,
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
      summary: 'Change name, description, budget or rules',
      description:
        'The budget covers every model call in the workspace, on credits or not; what was spent before it was set counts. It is reached as `402 budget_reached`. `keys` and `allowed_models` hold for every member; who breaks them is refused with `403 policy_denied`.',
      scope: 'workspace:write',
      consent: 'person',
      on: 'workspace',
      role: 'admin',
      body: {
        name: name.optional(),
        description: description.optional(),
        ...z.object({ ...budget, ...rules }).partial().shape,
      },
      reply: one(Workspace),
      errors: ['invalid_state'],
    }),
    delete: endpoint('DELETE /workspaces/:id', {
      summary: 'Delete a workspace with all that is in it',
      description:
        'Content, files and members go for good, keys that are restricted to it are revoked; ledger and audit stay. How much it was, is told by the event `workspace.deleted` (`removed`) and kept in the audit. Only an owner may, and has to confirm with the name.',
      scope: 'workspace:write',
      consent: 'person',
      on: 'workspace',
      role: 'owner',
      query: { confirm: z.string().describe('The name of the workspace.') },
      reply: deleted,
      errors: ['personal_workspace'],
    }),
    archive: endpoint('POST /workspaces/:id/archive', {
      summary: 'Archive a workspace: it becomes read-only',
      scope: 'workspace:write',
      on: 'workspace',
      role: 'admin',
      reply: one(Workspace),
      errors: ['personal_workspace'],
    }),
    unarchive: endpoint('POST /workspaces/:id/unarchive', {
      summary: 'Bring a workspace back from the archive',
      scope: 'workspace:write',
      on: 'workspace',
      role: 'admin',
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
      .describe('In the present period of the budget. Null: known to the member and to the admins alone.'),
    keys,
    allowed_models: allowedModels,
    created_by: idOut.nullable(),
  })
  .meta({ id: 'Member' })

const memberId = 'The id of the membership, or of the user.'

export const members = area(
  'members',
  { title: 'Members', summary: 'Who works in a workspace, and what they may do. Nobody grants more than they have.' },
  {
    list: endpoint('GET /workspaces/:id/members', {
      summary: 'List the members of a workspace',
      scope: 'member:read',
      on: 'workspace',
      reply: page(Member),
    }),
    add: endpoint('POST /workspaces/:id/members', {
      summary: 'Add somebody who is known from another workspace',
      description: 'Only who shares a workspace with the caller can be added; everybody else is invited by e-mail.',
      scope: 'member:write',
      consent: 'person',
      on: 'workspace',
      role: 'admin',
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
      summary: 'Change role, permissions, budget or rules of a member',
      description: `${memberId} To hand a workspace over, make another member its owner. The budget is held by the ledger like every cap, in all processes at once. An admin’s own budget and rules are an owner’s to change.`,
      scope: 'member:write',
      consent: 'person',
      on: 'workspace',
      role: 'admin',
      body: { role: role.optional(), permissions: permissions.optional(), ...z.object(limits).partial().shape },
      reply: one(Member),
      errors: ['last_owner', 'invalid_state'],
    }),
    remove: endpoint('DELETE /workspaces/:id/members/:memberId', {
      summary: 'Remove a member, or leave',
      description: `${memberId} Everybody may leave, except the last owner; removing others needs the role admin.`,
      scope: 'member:write',
      consent: 'person',
      on: 'workspace',
      // A scope that everybody in the workspace has: to leave it must not need more. The rule for others is the service's.
      onScope: 'user:read',
      reply: deleted,
      errors: ['last_owner'],
    }),
  },
)
