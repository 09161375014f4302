import { Tag, type Tone } from '../../ui/page.tsx'
import type { Delivery, Webhook } from './queries.ts'

const why = {
  manual: 'turned off',
  failing: 'off: failed for three days',
  gone: 'off: responded with 410 Gone',
  rights_lost: 'off: its owner is no longer an admin',
  account_recovered: 'off: created before the account was recovered',
} as const

export function WebhookStatus({ webhook: { status, disabled_reason, failing_since } }: { webhook: Webhook }) {
  if (status === 'disabled') return <Tag tone="bad">{why[disabled_reason ?? 'manual']}</Tag>
  return failing_since === null ? <Tag tone="good">on</Tag> : <Tag tone="warn">failing</Tag>
}

const tones: Record<Delivery['status'], Tone> = {
  waiting: 'ai',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'plain',
}
export const DeliveryStatus = ({ status }: Pick<Delivery, 'status'>) => <Tag tone={tones[status]}>{status}</Tag>

export const sayEvents = (events: readonly string[]): string =>
  events.includes('*') ? 'all events' : events.join(', ')
