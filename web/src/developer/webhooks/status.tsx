import { Tag, type Tone } from '../../ui/page.tsx'
import type { Delivery, Webhook } from './queries.ts'

const why = {
  manual: 'switched off',
  failing: 'off: it failed for three days',
  gone: 'off: it answered 410 Gone',
  rights_lost: 'off: who answered for it is no longer an admin here',
  account_recovered: 'off: made before the account came to its owner',
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
  events.includes('*') ? 'every event' : events.join(', ')
