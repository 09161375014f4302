import { z } from 'zod'
import { byScope, inWorkspace, resource, secret } from '#core/access.ts'
import {
  area,
  deleted,
  endpoint,
  id,
  idOut,
  one,
  page,
  resourceFields,
  statusFilter,
  time,
  usd,
  words,
  workspaceId,
} from '#core/contract.ts'
import { positiveUsd } from '#core/money.ts'
import { AutomationFirings, AutomationRun, CostStats, KeyedCostStats } from './contract-runs.ts'

const kind = z.enum(['cron', 'webhook'])
const overlap = z
  .enum(['skip', 'queue', 'cancel_previous', 'allow'])
  .describe('What to do when a run is due while an earlier one is still active.')
const catchUp = z
  .enum(['none', 'latest', 'all'])
  .describe('Which scheduled times that are more than 2 s late are still run. Applied before `overlap`.')
const prompt = words(100_000).pipe(z.string().min(1))

export const Action = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('agent'),
      agent_id: id,
      chat_id: id.nullable().default(null).describe('The chat it posts to. Null: each run creates a new chat.'),
      prompt: prompt.describe('The message to the agent. The body of a webhook is appended.'),
    }),
    z.strictObject({
      type: z.literal('command'),
      computer_id: id,
      command: words(32_768)
        .pipe(z.string().min(1))
        .describe(
          'The command for `/bin/sh -c`. It gets the body of a webhook on standard input. A run fails if the exit code isn’t 0.',
        ),
    }),
  ])
  .meta({ id: 'AutomationAction' })

export const NICKNAMES = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually']
const schedule = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .describe(
    `A cron expression with five fields, or six with seconds first; a nickname (${NICKNAMES.map((name) => `\`${name}\``).join(', ')}); or one local time that fires once, such as \`2026-12-24T09:00\`.`,
  )
  .meta({ examples: ['0 9 * * 1-5', ...NICKNAMES] })
const timeZone = z.string().trim().min(1).max(64).describe('An IANA time zone, such as Europe/Berlin.')
const window = z.number().int().min(0).max(2_592_000).describe('Scheduled times older than this are skipped.')
const maxCost = positiveUsd.nullable().describe('Spend limit for the model calls of each run.')
const timeout = z
  .number()
  .int()
  .min(10)
  .max(86_400)
  .describe('Runs that take longer are stopped with the status `timed_out`.')
const name = words(120).pipe(z.string().trim().min(1))

export const Automation = z
  .object({
    ...resourceFields,
    name: z.string(),
    kind,
    schedule: z.string().nullable(),
    time_zone: z.string().nullable(),
    action: z.union([
      z.object({ type: z.literal('agent'), agent_id: idOut, chat_id: idOut.nullable(), prompt: z.string() }),
      z.object({ type: z.literal('command'), computer_id: idOut, command: z.string() }),
    ]),
    overlap,
    catch_up: catchUp,
    catch_up_window_seconds: z.int(),
    max_cost_usd: usd.nullable(),
    timeout_seconds: z.int(),
    next_run_at: time.nullable(),
    last_run_at: time
      .nullable()
      .describe('When the last run was started by schedule, by webhook or manually. Skipped runs don’t count.'),
    paused_reason: z
      .enum(['failures', 'agent_changed', 'account_recovered'])
      .nullable()
      .describe(
        'Why the server paused the automation. `failures`: it kept failing and was archived. `agent_changed`: its agent was changed by someone with fewer permissions than its account. `account_recovered`: its account was recovered by the owner of the email address. It doesn’t run until someone with its account’s permissions unarchives, changes or test-fires it.',
      ),
    paused_at: time.nullable(),
  })
  .meta({ id: 'Automation' })

export const NewAutomation = Automation.extend({
  token: z.string().nullable().describe('The bearer token for `fire`, `ukw_…`. It’s shown only once.'),
  secret: z
    .string()
    .nullable()
    .describe('The secret for Standard Webhooks signatures, `whsec_…`. It’s shown only once.'),
}).meta({ id: 'NewAutomation' })

const runFilters = { status: AutomationRun.shape.status.optional().describe('Only runs with this status.') }

export const automations = area(
  'automations',
  { title: 'Automations', summary: 'Agents and commands that run on a schedule or when a webhook is called.' },
  {
    list: endpoint('GET /automations', {
      summary: 'List automations',
      access: byScope('automation:read'),
      query: { workspace_id: id.optional().describe('Only automations in this workspace.'), ...statusFilter },
      reply: page(Automation),
    }),
    keyed_cost_stats: endpoint('GET /automations/cost-stats', {
      summary: 'Get the cost of a workspace’s automations, by ID',
      access: inWorkspace('automation:read'),
      query: { workspace_id: workspaceId },
      reply: one(KeyedCostStats),
      cli: 'automations all-cost-stats',
    }),
    run: endpoint('GET /automations/:id/runs/:runId', {
      summary: 'Get an automation run',
      access: resource('automation', { scope: 'automation:read' }),
      reply: one(AutomationRun),
      beyond: true,
    }),
    workspace_runs: endpoint('GET /automations/runs', {
      summary: 'List the runs of all automations in a workspace',
      access: inWorkspace('automation:read'),
      query: { workspace_id: id.describe('The workspace.'), ...runFilters },
      reply: page(AutomationRun),
      cli: 'automations all-runs',
    }),
    get: endpoint('GET /automations/:id', {
      summary: 'Get an automation',
      access: resource('automation', { scope: 'automation:read' }),
      reply: one(Automation),
    }),
    firings: endpoint('GET /app/automation-firings', {
      summary: 'Preview when a schedule fires',
      access: byScope('automation:read'),
      query: {
        schedule,
        time_zone: timeZone.default('UTC'),
        count: z.coerce.number().int().min(1).max(50).default(5),
      },
      reply: one(AutomationFirings),
      errors: ['invalid_cron', 'invalid_time_zone'],
      beyond: true,
    }),
    create: endpoint('POST /automations', {
      summary: 'Create an automation',
      description:
        'It runs with the permissions of its creator and the credential used to create it, checked again for each run. An account can have up to 1,000 automations. Scheduled runs count as inference requests of the account (6,000 a minute by default); runs beyond the limit are `skipped` with the reason `rate_limited`. A webhook’s `token` and `secret` are returned only in this response.',
      access: inWorkspace('automation:write'),
      consent: 'person',
      body: {
        workspace_id: workspaceId,
        name,
        kind,
        schedule: schedule.optional(),
        time_zone: timeZone.optional().describe('Default: UTC.'),
        action: Action,
        overlap: overlap.default('skip'),
        catch_up: catchUp.default('latest'),
        catch_up_window_seconds: window.default(86_400),
        max_cost_usd: maxCost.default(null),
        timeout_seconds: timeout.default(3_600),
      },
      reply: one(NewAutomation),
      status: 201,
      errors: ['invalid_cron', 'invalid_time_zone', 'not_ready', 'missing_parameter', 'not_found', 'limit_reached'],
    }),
    update: endpoint('PATCH /automations/:id', {
      summary: 'Update an automation',
      description:
        'A new schedule applies from now on. To change what an automation does, or when another user’s automation runs or what it can spend, you need permission for everything it does. From then on, you’re responsible for its runs.',
      access: resource('automation', { scope: 'automation:write', inTrash: true }),
      consent: 'person',
      body: {
        name: name.optional(),
        schedule: schedule.optional(),
        time_zone: timeZone.optional(),
        action: Action.optional(),
        overlap: overlap.optional(),
        catch_up: catchUp.optional(),
        catch_up_window_seconds: window.optional(),
        max_cost_usd: maxCost.optional(),
        timeout_seconds: timeout.optional(),
      },
      reply: one(Automation),
      errors: ['invalid_cron', 'invalid_time_zone', 'not_ready', 'not_found', 'limit_reached'],
    }),
    delete: endpoint('DELETE /automations/:id', {
      summary: 'Permanently delete an automation and its run history',
      description: 'Stops any active run. Chats it created are kept.',
      access: resource('automation', { scope: 'automation:write', inTrash: true }),
      consent: 'person',
      reply: deleted,
    }),
    archive: endpoint('POST /automations/:id/archive', {
      summary: 'Archive an automation',
      access: resource('automation', { scope: 'automation:write', inTrash: true }),
      reply: one(Automation),
    }),
    unarchive: endpoint('POST /automations/:id/unarchive', {
      summary: 'Unarchive an automation',
      access: resource('automation', { scope: 'automation:write', inTrash: true }),
      consent: 'person',
      reply: one(Automation),
      errors: ['not_ready'],
    }),
    fire: endpoint('POST /automations/:id/fire', {
      summary: 'Trigger a webhook automation',
      description:
        'Authenticate with `Authorization: Bearer ukw_…`, or sign the raw body according to Standard Webhooks. No API key is used. Sending the same `webhook-id` again returns 200 with the first run. A missing or wrong token or signature returns 401, whether or not the webhook exists. Bodies with `Content-Encoding: gzip`, `deflate`, `br` or `zstd`, or with a `charset`, are decoded; signatures cover the bytes as sent.',
      access: secret(),
      limit: 'inference',
      takes: 'bytes',
      decodes: true,
      bytesAre: 'application/json',
      bodyLimit: 1 << 20,
      headers: {
        authorization: z.string().max(200).optional().describe('`Bearer ukw_…`'),
        webhook_id: z.string().min(1).max(256).optional(),
        webhook_timestamp: z
          .string()
          .max(20)
          .optional()
          .describe('Unix time in seconds, within 5 minutes of the server’s clock.'),
        webhook_signature: z.string().max(2_000).optional().describe('`v1,<base64>`; separate several with spaces.'),
      },
      reply: one(AutomationRun),
      status: 202,
      errors: ['invalid_signature', 'not_found', 'invalid_state', 'payload_too_large', 'unsupported_media_type'],
    }),
    test_fire: endpoint('POST /automations/:id/test-fire', {
      summary: 'Run an automation now',
      description:
        'If the automation is paused because its agent was changed, this resumes it, provided you have permission for everything it does. An agent needs a person’s approval for that.',
      access: resource('automation', { scope: 'automation:run' }),
      reply: one(AutomationRun),
      status: 202,
      errors: ['invalid_state', 'consent_required'],
    }),
    cost_stats: endpoint('GET /automations/:id/cost-stats', {
      summary: 'Get the cost of an automation',
      access: resource('automation', { scope: 'automation:read' }),
      reply: one(CostStats),
    }),
    runs: endpoint('GET /automations/:id/runs', {
      summary: 'List the runs of an automation, including skipped ones',
      access: resource('automation', { scope: 'automation:read' }),
      query: runFilters,
      reply: page(AutomationRun),
    }),
    cancel: endpoint('POST /automations/:id/runs/:runId/cancel', {
      summary: 'Cancel a waiting or active run',
      access: resource('automation', { scope: 'automation:run', inTrash: true, inArchivedWorkspace: true }),
      reply: one(AutomationRun),
      errors: ['invalid_state'],
    }),
    retry: endpoint('POST /automations/:id/runs/:runId/retry', {
      summary: 'Retry a failed, timed out or canceled run',
      access: resource('automation', { scope: 'automation:run' }),
      reply: one(AutomationRun),
      status: 202,
      errors: ['invalid_state'],
    }),
    rotate_secret: endpoint('POST /automations/:id/rotate-secret', {
      summary: 'Rotate a webhook automation’s token and secret',
      description:
        'The old ones stay valid for `overlap_seconds`. If you rotate repeatedly, each of the newest 20 keeps the period it was given. 0 revokes all of them at once. To rotate another user’s webhook, you need permission for everything the automation does. From then on, you’re responsible for its runs.',
      access: resource('automation', { scope: 'automation:write' }),
      consent: 'person',
      body: {
        overlap_seconds: z
          .number()
          .int()
          .min(0)
          .max(604_800)
          .default(86_400)
          .describe('How long the old token and secret stay valid.'),
      },
      reply: one(NewAutomation),
      errors: ['invalid_state', 'limit_reached'],
    }),
  },
)
