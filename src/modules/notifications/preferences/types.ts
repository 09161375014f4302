/** Notification types sent by the server, with their default channels. */
export const channels = ['in_app', 'email', 'push'] as const
export type Channel = (typeof channels)[number]
export const digests = ['none', 'hourly', 'daily'] as const
export type Digest = (typeof digests)[number]
export const severities = ['info', 'success', 'warning', 'error'] as const
export type Severity = (typeof severities)[number]

export interface NotificationType {
  summary: string
  severity: Severity
  on: readonly Channel[]
}

const everywhere = channels
const here = ['in_app', 'push'] as const

export const types = {
  message: { summary: 'You get a message from a user or an agent.', severity: 'info', on: here },
  'run.completed': {
    summary: 'A long or unattended run finished.',
    severity: 'success',
    on: here,
  },
  'run.failed': {
    summary: 'A long or unattended run failed.',
    severity: 'error',
    on: here,
  },
  'run.requires_action': { summary: 'A run is waiting for your approval.', severity: 'warning', on: here },
  'operation.succeeded': { summary: 'Another background task finished.', severity: 'success', on: [] },
  'operation.failed': { summary: 'Another background task failed or timed out.', severity: 'error', on: [] },
  'automation.failed': { summary: 'An automation run failed.', severity: 'error', on: everywhere },
  'automation.paused': {
    summary:
      'An automation was paused because it kept failing, a member with fewer permissions changed its agent, or your account was recovered.',
    severity: 'error',
    on: everywhere,
  },
  'account.recovered': {
    summary: 'Your account was recovered, and access created before was turned off.',
    severity: 'warning',
    on: ['in_app', 'email'],
  },
  'invitation.received': { summary: 'You’re invited to a workspace.', severity: 'info', on: here },
  'invitation.accepted': { summary: 'Your invitation was accepted.', severity: 'success', on: here },
  'member.added': { summary: 'You were added to a workspace.', severity: 'info', on: here },
  'share.received': { summary: 'Something was shared with you.', severity: 'info', on: here },
  'cap.near': { summary: '80% of a spend cap or of your credits is used.', severity: 'warning', on: everywhere },
  'cap.reached': { summary: 'A spend cap is reached, or your credits are used up.', severity: 'error', on: everywhere },
  'credits.requested': {
    summary: 'A user requests credits from you as the administrator.',
    severity: 'info',
    on: everywhere,
  },
  'credits.granted': { summary: 'Your credit request was granted.', severity: 'success', on: everywhere },
  'credits.refused': { summary: 'Your credit request was declined.', severity: 'warning', on: everywhere },
  'webhook.disabled': {
    summary: 'A webhook was turned off because it kept failing or its owner is no longer an admin.',
    severity: 'error',
    on: everywhere,
  },
  'provider.failing': {
    summary: 'One of your providers is failing.',
    severity: 'error',
    on: everywhere,
  },
  'provider.working': { summary: 'One of your providers works again.', severity: 'success', on: here },
} as const satisfies Record<string, NotificationType>

export type KnownType = keyof typeof types

const known: Readonly<Record<string, NotificationType>> = types

/** Unknown types use the channels of messages. */
export const typeOf = (type: string): NotificationType => (Object.hasOwn(known, type) ? known[type]! : types.message)

const reservedPrefixes = new Set(
  Object.keys(types)
    .filter((type) => type !== 'message')
    .map((type) => type.split('.')[0]!),
)

/** Types of the server's own notifications and their namespaces (`account.…`), which people and agents can't send. */
export const isReserved = (type: string): boolean => reservedPrefixes.has(type.split('.')[0]!)
