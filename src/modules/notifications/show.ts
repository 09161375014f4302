import type { z } from 'zod'
import { iso, isoOrNull } from '#core/time.ts'
import type { Notification } from './contract.ts'
import type { DeliveryRow } from './delivery/delivery-store.ts'
import type { NotificationRow } from './store.ts'

export const showNotification = (
  row: NotificationRow,
  deliveries: readonly DeliveryRow[],
): z.output<typeof Notification> => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  workspace_id: row.workspace_id,
  type: row.type,
  title: row.title,
  body: row.body,
  severity: row.severity,
  resource:
    row.resource_type !== null && row.resource_id !== null ? { type: row.resource_type, id: row.resource_id } : null,
  action_url: row.action_url,
  sender_id: row.sender_id,
  status: row.status,
  read_at: isoOrNull(row.read_at),
  deliveries: deliveries.map(({ channel, status, due_at, error }) => ({ channel, status, due_at: iso(due_at), error })),
})
