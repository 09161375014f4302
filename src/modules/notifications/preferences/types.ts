/** Types of notifications that the server itself sends, and where people get them unless they say otherwise. */
export const channels = ['in_app', 'email', 'push'] as const
export type Channel = (typeof channels)[number]
export const digests = ['none', 'hourly', 'daily'] as const
export type Digest = (typeof digests)[number]
export const severities = ['info', 'success', 'warning', 'error'] as const
export type Severity = (typeof severities)[number]

export interface NotificationType {
  summary: string
  severity: Severity
  /** The channels that it goes to by default. */
  on: readonly Channel[]
}

const everywhere = channels
const here = ['in_app', 'push'] as const

export const types = {
  message: { summary: 'Somebody, or an agent, sends you a word.', severity: 'info', on: here },
  'run.completed': {
    summary: 'A run that took a while, or went on without you, is finished.',
    severity: 'success',
    on: here,
  },
  'run.failed': {
    summary: 'A run that took a while, or went on without you, has failed.',
    severity: 'error',
    on: here,
  },
  'run.requires_action': { summary: 'A run waits for your decision.', severity: 'warning', on: here },
  'operation.succeeded': { summary: 'Other background work is done.', severity: 'success', on: [] },
  'operation.failed': { summary: 'Other background work has failed, or took too long.', severity: 'error', on: [] },
  'automation.failed': { summary: 'A run of an automation has failed.', severity: 'error', on: everywhere },
  'automation.paused': {
    summary:
      'An automation was paused: it kept failing, somebody with fewer rights changed its agent, or its account came to its owner.',
    severity: 'error',
    on: everywhere,
  },
  'account.recovered': {
    summary: 'Your account came to you by its address, and what was made in it before was switched off.',
    severity: 'warning',
    on: ['in_app', 'email'],
  },
  'invitation.received': { summary: 'You are invited to a workspace.', severity: 'info', on: here },
  'invitation.accepted': { summary: 'Somebody accepted your invitation.', severity: 'success', on: here },
  'member.added': { summary: 'You were added to a workspace.', severity: 'info', on: here },
  'share.received': { summary: 'Something was shared with you.', severity: 'info', on: here },
  'cap.near': { summary: '80 % of a cap, a budget or your balance is used.', severity: 'warning', on: everywhere },
  'cap.reached': { summary: 'A cap, a budget or your balance is used up.', severity: 'error', on: everywhere },
  'credits.requested': {
    summary: 'Somebody asks you for credits, as the administrator.',
    severity: 'info',
    on: everywhere,
  },
  'credits.granted': { summary: 'You were given the credits that you asked for.', severity: 'success', on: everywhere },
  'credits.refused': { summary: 'Your request for credits was refused.', severity: 'warning', on: everywhere },
  'webhook.disabled': {
    summary: 'A webhook endpoint was switched off: it kept failing, or nobody answers for it any more.',
    severity: 'error',
    on: everywhere,
  },
  'provider.failing': {
    summary: 'A provider endpoint of yours stopped answering as it should.',
    severity: 'error',
    on: everywhere,
  },
  'provider.working': { summary: 'A provider endpoint of yours works again.', severity: 'success', on: here },
} as const satisfies Record<string, NotificationType>

export type KnownType = keyof typeof types

const known: Readonly<Record<string, NotificationType>> = types

/** Types that others make up go where a message goes. */
export const typeOf = (type: string): NotificationType => (Object.hasOwn(known, type) ? known[type]! : types.message)

const reservedPrefixes = new Set(
  Object.keys(types)
    .filter((type) => type !== 'message')
    .map((type) => type.split('.')[0]!),
)

/** Types of the server's own notifications, and the names beside them (`account.…`): people and agents can't send these. */
export const isReserved = (type: string): boolean => reservedPrefixes.has(type.split('.')[0]!)
