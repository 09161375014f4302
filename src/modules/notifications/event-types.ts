import { eventTypes } from '#core/events.ts'

export const notificationEvents = [
  ...eventTypes('notification:read', ['user'], {
    'notification.created': 'You were notified; `silent` where no toast or sound is wanted now.',
    'notification.updated': 'A notification was marked as read or unread.',
    'notification.deleted': 'A notification was deleted.',
    'notification.all_read': 'Notifications were marked as read, all that the data names.',
  }),
  ...eventTypes('usage:read', ['user', 'workspace'], {
    'cap.near': '80 % of the cap of a key, the budget of a workspace, or a balance is used.',
    'cap.reached': 'The cap of a key, the budget of a workspace, or a balance is used up.',
  }),
]
