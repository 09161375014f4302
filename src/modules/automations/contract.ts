import { z } from 'zod'
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
  .describe('What becomes of a firing while an earlier run goes on.')
const catchUp = z
  .enum(['none', 'latest', 'all'])
  .describe('Which of the ticks that came more than 2 s late are run; it decides on them before `overlap` does.')
const prompt = words(100_000).pipe(z.string().min(1))

export const Action = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('agent'),
      agent_id: id,
      chat_id: id.nullable().default(null).describe('The chat that it speaks in. Null: each run has a new one.'),
      prompt: prompt.describe('What the agent is told. A webhook’s body follows it.'),
    }),
    z.strictObject({
      type: z.literal('command'),
      computer_id: id,
      command: words(32_768)
        .pipe(z.string().min(1))
        .describe('For `/bin/sh -c`. Reads the body of a webhook; another exit code than 0 is a failed run.'),
    }),
  ])
  .meta({ id: 'AutomationAction' })

/** Schedules that have a name of their own in cron. */
export const NICKNAMES = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually']
const schedule = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .describe(
    `Cron, five fields, or six with seconds in front; a nickname (${NICKNAMES.map((name) => `\`${name}\``).join(', ')}); or one local time, such as \`2026-12-24T09:00\`, which fires once.`,
  )
  .meta({ examples: ['0 9 * * 1-5', ...NICKNAMES] })
const timeZone = z.string().trim().min(1).max(64).describe('An IANA time zone, such as Europe/Berlin.')
const window = z.number().int().min(0).max(2_592_000).describe('Ticks older than this are not caught up with.')
const maxCost = positiveUsd.nullable().describe('What each run may spend on models at most.')
const timeout = z.number().int().min(10).max(86_400).describe('A run that takes longer is stopped: `timed_out`.')
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
      .describe('When a run was last begun by the clock, its webhook or by hand: skipped ticks are none.'),
    paused_reason: z
      .enum(['failures', 'agent_changed', 'account_recovered'])
      .nullable()
      .describe(
        'Why the server paused it: `failures`, and it is archived; `agent_changed` by somebody with fewer rights than its account, or `account_recovered` by the owner of its address, and it fires no more until somebody who has the rights of its account unarchives, changes or test-fires it.',
      ),
    paused_at: time.nullable(),
  })
  .meta({ id: 'Automation' })

export const NewAutomation = Automation.extend({
  token: z.string().nullable().describe('`ukw_…`, the bearer token of `fire`; shown this once.'),
  secret: z
    .string()
    .nullable()
    .describe('`whsec_…`, what Standard Webhooks signatures are made with; shown this once.'),
}).meta({ id: 'NewAutomation' })

const runFilters = { status: AutomationRun.shape.status.optional().describe('Only runs in this state.') }
const on = { on: 'automation', onShare: 'none' } as const

export const automations = area(
  'automations',
  { title: 'Automations', summary: 'Agents that are set to work by the clock or by a webhook.' },
  {
    list: endpoint('GET /automations', {
      summary: 'List automations',
      scope: 'automation:read',
      query: { workspace_id: id.optional().describe('Only those of this workspace.'), ...statusFilter },
      reply: page(Automation),
    }),
    keyed_cost_stats: endpoint('GET /automations/cost-stats', {
      summary: 'What the automations of a workspace have cost, by their ids',
      scope: 'automation:read',
      within: 'workspace_id',
      query: { workspace_id: workspaceId },
      reply: one(KeyedCostStats),
      cli: 'automations all-cost-stats',
    }),
    run: endpoint('GET /automations/:id/runs/:runId', {
      summary: 'Read a run of an automation',
      scope: 'automation:read',
      ...on,
      reply: one(AutomationRun),
      beyond: true,
    }),
    workspace_runs: endpoint('GET /automations/runs', {
      summary: 'List the runs of all automations of a workspace',
      scope: 'automation:read',
      within: 'workspace_id',
      query: { workspace_id: id.describe('The workspace.'), ...runFilters },
      reply: page(AutomationRun),
      cli: 'automations all-runs',
    }),
    get: endpoint('GET /automations/:id', {
      summary: 'Read an automation',
      scope: 'automation:read',
      ...on,
      reply: one(Automation),
    }),
    firings: endpoint('GET /app/automation-firings', {
      summary: 'See when a schedule would fire, before it is anybody’s',
      scope: 'automation:read',
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
        'It runs in the rights of who makes it and the credential that it is made with, judged anew at each firing. An account has 1,000 at most. What the clock starts counts as inference of that account, 6,000 runs a minute unless the server says otherwise; ticks beyond it are `skipped`, `rate_limited`. A webhook’s `token` and `secret` are in this answer and never again.',
      scope: 'automation:write',
      consent: 'person',
      within: 'workspace_id',
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
      summary: 'Change an automation',
      description:
        'A new schedule counts from now on; what has fired has fired. Who changes what it does, or when another’s fires or what it may spend, must be allowed what it does, and answers for it from then on.',
      scope: 'automation:write',
      consent: 'person',
      ...on,
      inAnyStatus: true,
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
      summary: 'Delete an automation and its runs for good',
      description: 'What goes on is stopped; chats that it spoke in stay.',
      scope: 'automation:write',
      consent: 'person',
      ...on,
      inAnyStatus: true,
      reply: deleted,
    }),
    archive: endpoint('POST /automations/:id/archive', {
      summary: 'Archive an automation: it fires no more',
      scope: 'automation:write',
      ...on,
      inAnyStatus: true,
      reply: one(Automation),
    }),
    unarchive: endpoint('POST /automations/:id/unarchive', {
      summary: 'Bring an automation back from the archive',
      scope: 'automation:write',
      consent: 'person',
      ...on,
      inAnyStatus: true,
      reply: one(Automation),
      errors: ['not_ready'],
    }),
    fire: endpoint('POST /automations/:id/fire', {
      summary: 'Fire a webhook automation',
      description:
        'With `Authorization: Bearer ukw_…`, or signed after Standard Webhooks over the raw body; no platform key. The same `webhook-id` again answers 200 with the first run. Without the right token or signature it is 401, whether there is such a webhook or not. A body with `Content-Encoding: gzip`, `deflate`, `br` or `zstd`, or with a `charset`, is decoded; signatures cover the bytes as sent.',
      scope: null,
      auth: 'open',
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
          .describe('Seconds since 1970, not further off than 5 minutes.'),
        webhook_signature: z.string().max(2_000).optional().describe('`v1,<base64>`, several apart by spaces.'),
      },
      reply: one(AutomationRun),
      status: 202,
      errors: ['invalid_signature', 'not_found', 'invalid_state', 'payload_too_large', 'unsupported_media_type'],
    }),
    test_fire: endpoint('POST /automations/:id/test-fire', {
      summary: 'Fire an automation now',
      description:
        'What is paused because its agent was changed goes on with it, if you may do all that it does; an agent asks a person for that.',
      scope: 'automation:run',
      ...on,
      reply: one(AutomationRun),
      status: 202,
      errors: ['invalid_state', 'consent_required'],
    }),
    cost_stats: endpoint('GET /automations/:id/cost-stats', {
      summary: 'What an automation has cost',
      scope: 'automation:read',
      ...on,
      reply: one(CostStats),
    }),
    runs: endpoint('GET /automations/:id/runs', {
      summary: 'List the runs of an automation, skipped ticks included',
      scope: 'automation:read',
      ...on,
      query: runFilters,
      reply: page(AutomationRun),
    }),
    cancel: endpoint('POST /automations/:id/runs/:runId/cancel', {
      summary: 'Cancel a run that waits or goes on',
      scope: 'automation:run',
      ...on,
      inAnyStatus: true,
      inArchivedWorkspace: true,
      reply: one(AutomationRun),
      errors: ['invalid_state'],
    }),
    retry: endpoint('POST /automations/:id/runs/:runId/retry', {
      summary: 'Try a run again that failed, took too long or was cancelled',
      scope: 'automation:run',
      ...on,
      reply: one(AutomationRun),
      status: 202,
      errors: ['invalid_state'],
    }),
    rotate_secret: endpoint('POST /automations/:id/rotate-secret', {
      summary: 'Make a webhook automation’s token and secret anew',
      description:
        'Those of before count for `overlap_seconds` more, each as long as it was promised, the newest 20; 0 ends them all. Who rotates another’s must be allowed what the automation does, and answers for it from then on.',
      scope: 'automation:write',
      consent: 'person',
      ...on,
      body: {
        overlap_seconds: z
          .number()
          .int()
          .min(0)
          .max(604_800)
          .default(86_400)
          .describe('For so long the old ones count too.'),
      },
      reply: one(NewAutomation),
      errors: ['invalid_state', 'limit_reached'],
    }),
  },
)
