import { eventTypes } from '#core/events.ts'

export const notificationEvents = [
  ...eventTypes('notification:read', ['user'], {
    'notification.created': 'A notification was created. `silent`: show no toast and play no sound.',
    'notification.updated': 'A notification was marked as read or unread.',
    'notification.deleted': 'A notification was deleted.',
    'notification.all_read': 'Notifications were marked as read. The data lists which ones.',
  }),
  ...eventTypes('usage:read', ['user', 'workspace'], {
    'cap.near': '80 % of a key’s spend cap, a workspace’s budget or a balance is used.',
    'cap.reached': 'A key’s spend cap, a workspace’s budget or a balance is used up.',
  }),
]
