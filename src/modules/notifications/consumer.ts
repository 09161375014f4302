import { personBehind, personOf } from '#modules/accounts/service.ts'
import { runToReport } from '#modules/chats/service.ts'
import { invitationOf, workspaceName } from '#modules/workspaces/service.ts'
import type { Engine } from '#infra/context.ts'
import type { Consumer, DeliveredEvent } from '#infra/outbox/deliveries.ts'
import type { Id } from '#core/ids.ts'
import { isPresent } from '#modules/realtime/service.ts'
import { filled } from './caps.ts'
import { type NewNotification, notify } from './notify.ts'
import { notificationStore } from './store.ts'

/** The caller is still waiting for shorter runs. */
const LONG_SECONDS = 30

type Source = (engine: Engine, event: DeliveredEvent) => Promise<Omit<NewNotification, 'toldOf'>[]>

/**
 * Events that trigger notifications. The event ID is stored with each notification, so a repeated event notifies no
 * one twice.
 */
const sources: Readonly<Record<string, Source>> = {
  'run.completed': async (engine, event) => runEnded(engine, event, false),
  'run.failed': async (engine, event) => runEnded(engine, event, false),
  'run.requires_action': async (engine, event) => runEnded(engine, event, true),
  'operation.succeeded': operationEnded,
  'operation.failed': operationEnded,
  'operation.expired': operationEnded,
  'automation.run.failed': async (_, event) => automation(event, 'automation.failed', 'An automation run failed: %s'),
  'account.recovered': accountRecovered,
  // After an account recovery, the notification about the account covers these.
  'automation.paused': async (_, event) =>
    event.data.paused_reason === 'agent_changed'
      ? automation(
          event,
          'automation.paused',
          '%s was paused because its agent was changed by someone with fewer permissions',
        )
      : event.data.paused_reason !== 'account_recovered' && (event.actor === null || event.actor.via === 'server')
        ? automation(event, 'automation.paused', '%s was paused because it kept failing')
        : [],
  'invitation.created': async ({ postgres: { db } }, event) => {
    const invitation = await invitationOf(db, event.resource_id!)
    const invited = invitation && (await personBehind(db, invitation.email))
    if (!invitation || !invited) return []
    const inviter = invitation.createdBy && (await personOf(db, invitation.createdBy))
    return [
      {
        to: invited.id,
        type: 'invitation.received',
        title: `${inviter ? inviter.name : 'Someone'} invited you to ${invitation.workspace}`,
        body: `Your role will be ${invitation.role}.`,
        resource: { type: 'invitation', id: event.resource_id! },
        actionUrl: '/app/invitations',
      },
    ]
  },
  'invitation.accepted': async ({ postgres: { db } }, event) => {
    const invitation = await invitationOf(db, event.resource_id!)
    const who = invitation?.acceptedBy ? await personOf(db, invitation.acceptedBy) : null
    if (!invitation?.createdBy || !who || who.id === invitation.createdBy) return []
    return [
      {
        to: invitation.createdBy,
        type: 'invitation.accepted',
        title: `${who.name} joined ${invitation.workspace}`,
        workspaceId: invitation.workspaceId,
        resource: { type: 'workspace', id: invitation.workspaceId },
      },
    ]
  },
  'member.added': async ({ postgres: { db } }, event) => {
    const workspaceId = event.data.workspace_id as Id
    const name = await workspaceName(db, workspaceId)
    return concerned(event).map((to) => ({
      to,
      type: 'member.added',
      title: `You were added to ${name ?? 'a workspace'}`,
      workspaceId,
      resource: { type: 'workspace', id: workspaceId },
    }))
  },
  'share.created': async ({ postgres: { db } }, event) => {
    const sharer = event.actor && (await personOf(db, event.actor.account_id))
    const thing = event.data.resource_type as string
    return concerned(event).map((to) => ({
      to,
      type: 'share.received',
      title: `${sharer ? sharer.name : 'Someone'} shared ${thing === 'agent' ? 'an' : 'a'} ${thing} with you`,
      resource: sharedThing(event),
      actionUrl: '/app/shared-with-me',
    }))
  },
  'credits.requested': creditsAsked,
  'credits.granted': creditsAnswered,
  'credits.refused': creditsAnswered,
  'cap.near': cap,
  'cap.reached': cap,
  'webhook_endpoint.disabled': async (_, event) =>
    // After an account recovery, the notification about the account covers these.
    (event.data.reason === 'account_recovered' ? [] : concerned(event)).map((to) => ({
      to,
      type: 'webhook.disabled',
      title: `The webhook ${(event.data.name as string | null) ?? ''} was disabled`.replaceAll(/\s+/g, ' '),
      body: whyDisabled(event.data.reason),
      workspaceId: (event.data.workspace_id as Id | null) ?? null,
      resource: { type: 'webhook_endpoint', id: event.resource_id! },
    })),
  'provider_endpoint.status_changed': providerChanged,
}

export const notificationConsumer = (engine: Engine): Consumer => ({
  name: 'notifications',
  types: [...Object.keys(sources), 'account.created'],
  // Runs of an automation are reported by the automation.
  sift: async () => (event) => !event.type.startsWith('run.') || !event.data.automation_run_id,
  async handle(event) {
    const { db } = engine.postgres
    if (event.type === 'credits.granted' || event.type === 'account.created') await filled(db, event.resource_id!)
    const words = (await sources[event.type]?.(engine, event)) ?? []
    if (words.length === 0) return
    await db.transaction().execute(async (tx) => {
      for (const word of words) await notify(engine, tx, { toldOf: event.id, ...word })
    })
    engine.bus.poke('outbox')
  },
})

const concerned = ({ channels, actor }: DeliveredEvent): Id[] =>
  channels
    .filter((channel) => channel.startsWith('user:'))
    .map((channel) => channel.slice(5))
    .filter((id) => id !== actor?.account_id)

async function runEnded(engine: Engine, event: DeliveredEvent, atOnce: boolean) {
  const run = await runToReport(engine.postgres, event.resource_id!)
  // The automation reports its runs, and the delegating run reports the end of a task. A person viewing the chat
  // needs no notification.
  if (!run || (atOnce ? run.status_reason === 'subagent' : run.delegated)) return []
  if (run.automated || (!atOnce && run.seconds < LONG_SECONDS)) return []
  if (await isPresent(engine.postgres.db, `chat:${run.chatId}`, run.accountId)) return []
  return [runWord(event.type as 'run.completed', event.resource_id!, run)]
}

const runTitles = {
  'run.completed': 'Finished: %s',
  'run.failed': 'Failed: %s',
  'run.requires_action': 'Waiting for your decision: %s',
} as const

const runWord = (type: keyof typeof runTitles, id: Id, run: NonNullable<Awaited<ReturnType<typeof runToReport>>>) => ({
  to: run.accountId,
  type,
  title: runTitles[type].replace('%s', () => run.title),
  body: run.error,
  workspaceId: run.workspaceId,
  resource: { type: 'run', id },
  actionUrl: `/app/chats/${run.chatId}`,
  // A background run ends twice: as a run and as its operation.
  toldOf: `${type} ${id}`,
})

async function operationEnded(engine: Engine, event: DeliveredEvent) {
  const { operation } = event.data as {
    operation: { kind: string; resource: { type: string; id: Id } | null; error: { message: string } | null }
  }
  if (operation.resource?.type === 'run') {
    const run = await runToReport(engine.postgres, operation.resource.id)
    // A run waiting for a person has already notified and hasn't ended.
    if (run?.status !== 'completed' && run?.status !== 'failed') return []
    return [runWord(`run.${run.status}`, operation.resource.id, run)]
  }
  const failed = event.type !== 'operation.succeeded'
  const late = event.type === 'operation.expired' ? 'It timed out and was stopped.' : null
  return accountsOf(event).map((to) => ({
    to,
    type: failed ? 'operation.failed' : 'operation.succeeded',
    title: `${failed ? 'Failed' : 'Done'}: ${operation.kind}`,
    body: operation.error?.message ?? late,
    resource: { type: 'operation', id: event.resource_id! },
  }))
}

/** The accounts of the event's channels, including the one that caused it, since it's their own work. */
const accountsOf = ({ channels }: DeliveredEvent): Id[] =>
  channels.filter((channel) => channel.startsWith('user:')).map((channel) => channel.slice(5))

function automation(event: DeliveredEvent, type: 'automation.failed' | 'automation.paused', title: string) {
  const { name, automation_id, workspace_id, error } = event.data
  const message = typeof error === 'string' ? error : (error as { message?: string } | null)?.message
  const id = (automation_id as Id | undefined) ?? event.resource_id!
  return accountsOf(event).map((to) => ({
    to,
    type,
    title: title.replace('%s', () => (typeof name === 'string' ? name : 'an automation')),
    body: message ?? null,
    workspaceId: (workspace_id as Id | undefined) ?? null,
    resource: { type: 'automation', id },
    actionUrl: `/app/automations/${id}`,
  }))
}

function sharedThing({ data, resource_type, resource_id }: DeliveredEvent): { type: string; id: string } | null {
  if (typeof data.resource_type === 'string' && typeof data.resource_id === 'string')
    return { type: data.resource_type, id: data.resource_id }
  return resource_type !== null && resource_id !== null ? { type: resource_type, id: resource_id } : null
}

function whyDisabled(reason: unknown): string {
  if (reason === 'rights_lost')
    return 'Its owner is no longer an admin of the workspace. The admin who enables it becomes its new owner.'
  if (reason === 'gone') return 'Its URL returned 410 Gone. Enable it again once it works.'
  return 'Every delivery has failed for days. Enable it again once its URL works.'
}

const CLOSED = {
  keys: 'API keys were revoked',
  webhooks: 'webhooks were disabled',
  provider_endpoints: 'providers were disabled',
  automations: 'automations were paused',
  invitations: 'invitations were revoked',
  goals: 'goals were ended',
} as const
const TO_REVIEW = {
  shares: 'shares with others',
  members: 'other members of your workspaces',
  computers: 'computers',
  agents_with_servers: 'agents with their own MCP servers',
} as const

/** Notifies the owner of the address once, because another person may have created the account. */
async function accountRecovered(_: Engine, event: DeliveredEvent) {
  const { data, resource_id } = event
  if (data.first !== true) return []
  const closed = counted(data.closed, CLOSED)
  const left = counted(data.to_review, TO_REVIEW)
  const body = [
    'The email address had never been confirmed, so someone else could have created the account.',
    ...(closed === '' ? [] : [`What was set up before was disabled: ${closed}.`]),
    ...(left === '' ? [] : [`Review what remains: ${left}.`]),
  ].join(' ')
  return accountsOf(event).map((to) => ({
    to,
    type: 'account.recovered' as const,
    title: 'Your account was recovered by email',
    body,
    resource: { type: 'account', id: resource_id! },
    actionUrl: '/app/settings/security',
  }))
}

const counted = (counts: unknown, words: Readonly<Record<string, string>>): string =>
  Object.entries(words)
    .flatMap(([key, what]) => {
      const count = (counts as Record<string, number> | undefined)?.[key]
      return count === undefined ? [] : [`${count} ${what}`]
    })
    .join(', ')

/** Notifies the administrators. The requester is notified of the answer. */
async function creditsAsked(_: Engine, event: DeliveredEvent) {
  const { account_id, name, amount_usd, note } = event.data
  const much = typeof amount_usd === 'number' ? `${amount_usd} USD` : 'Amount not specified'
  return accountsOf(event)
    .filter((to) => to !== account_id)
    .map((to) => ({
      to,
      type: 'credits.requested' as const,
      title: `${String(name)} requests credits`,
      body: `${much}.${note ? ` “${String(note)}”` : ''}`,
      resource: { type: 'credit_request', id: event.resource_id! },
      actionUrl: '/app/accounts',
    }))
}

/** Notifies the requester. Credits granted without a request aren't an answer. */
async function creditsAnswered(_: Engine, event: DeliveredEvent) {
  const { request_id, amount_usd, note } = event.data
  if (typeof request_id !== 'string') return []
  const granted = event.type === 'credits.granted'
  return accountsOf(event).map((to) => ({
    to,
    type: granted ? ('credits.granted' as const) : ('credits.refused' as const),
    title: granted ? `You received ${String(amount_usd)} USD in credits` : 'Your credit request was rejected',
    body: note ? String(note) : null,
    resource: { type: 'credit_request', id: request_id },
  }))
}

async function cap(_: Engine, event: DeliveredEvent) {
  const { kind, name, cap_usd, spent_usd } = event.data
  const what =
    kind === 'api_key'
      ? `the spend cap of the key ${String(name)}`
      : kind === 'workspace' || kind === 'member'
        ? `the budget of ${String(name)}`
        : 'your credits'
  const reached = event.type === 'cap.reached'
  return accountsOf(event).map((to) => ({
    to,
    type: event.type as 'cap.near' | 'cap.reached',
    title: reached
      ? `${what[0]!.toUpperCase()}${what.slice(1)} ${kind === 'account' ? 'are' : 'is'} used up`
      : `80 % of ${what} ${kind === 'account' ? 'are' : 'is'} used`,
    body: `${String(spent_usd)} of ${String(cap_usd)} USD used.`,
    workspaceId: kind === 'workspace' ? event.resource_id! : null,
    resource: { type: String(kind), id: event.resource_id! },
  }))
}

/** The maximum notifications about one provider per hour; the last one says that it fails intermittently. */
const TURNS = 3
const HOUR_MS = 3_600_000

/**
 * Notifies about a provider's changed state, unless it has never worked: then it is still being set up, and the
 * page shows its state.
 */
async function providerChanged({ postgres: { db } }: Engine, event: DeliveredEvent) {
  const { status, before, worked_before, name, message, workspace_id } = event.data
  const fails = status === 'failing' && worked_before === true
  const works = status === 'working' && before === 'failing' && worked_before === true
  if (!fails && !works) return []
  const type = fails ? ('provider.failing' as const) : ('provider.working' as const)
  const id = event.resource_id!
  const words = []
  for (const to of accountsOf(event)) {
    const told = await notificationStore.toldSince(db, to, { type, resourceId: id, since: Date.now() - HOUR_MS })
    if (told >= (fails ? TURNS : TURNS - 1)) continue
    const why = fails
      ? `${String(message ?? '')} Requests are routed to other providers of the model, if there are any.`.trim()
      : null
    words.push({
      to,
      type,
      title: fails ? `The provider ${String(name)} is failing` : `The provider ${String(name)} works again`,
      body:
        told === TURNS - 1
          ? `${why} It keeps alternating between failing and working, so you won’t get more notifications about it for an hour.`
          : why,
      workspaceId: (workspace_id as Id | null) ?? null,
      resource: { type: 'provider_endpoint', id },
      actionUrl: '/app/ai-routing',
    })
  }
  return words
}
