import { z } from 'zod'
import { account, byScope, resource } from '#core/access.ts'
import { area, base, deleted, endpoint, id, idOut, one, page, time, words } from '#core/contract.ts'

const severity = z.enum(['info', 'success', 'warning', 'error'])
const status = z.enum(['unread', 'read'])
const channel = z.enum(['in_app', 'email', 'push'])
const digest = z.enum(['none', 'hourly', 'daily'])
const type = z
  .string()
  .regex(/^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/, 'must be a type such as `run.failed`')
  .max(64)
const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 22:30')
  .meta({ examples: ['22:30'] })
const resourceRef = z.object({ type: z.string().max(64), id: z.string().max(64) })

export const Notification = z
  .object({
    ...base,
    workspace_id: idOut.nullable(),
    type: z
      .string()
      .describe(
        'The type, such as `run.completed`. Notifications sent by users are `message` unless they set another type.',
      ),
    title: z.string(),
    body: z.string().nullable(),
    severity,
    resource: resourceRef.nullable().describe('The resource it’s about.'),
    action_url: z.string().nullable().describe('The page to open.'),
    sender_id: idOut.nullable().describe('The account that sent it. Null: the server.'),
    status,
    read_at: time.nullable(),
    deliveries: z
      .array(
        z.object({
          channel: z.string(),
          status: z.enum(['waiting', 'sent', 'failed', 'skipped']),
          due_at: time,
          error: z.string().nullable(),
        }),
      )
      .describe('The delivery channels besides the app.'),
  })
  .meta({ id: 'Notification' })

export const Preferences = z
  .object({
    ...base,
    preferences: z.array(
      z.object({
        type: z.string(),
        description: z.string().nullable(),
        channel,
        enabled: z.boolean(),
        digest: digest.describe('For email: combine notifications into one email, hourly or daily.'),
      }),
    ),
  })
  .meta({ id: 'NotificationPreferences' })

const quietHours = z.object({
  start: clock,
  end: clock,
  time_zone: z
    .string()
    .max(64)
    .nullable()
    .default(null)
    .describe('An IANA name. Null: the time zone in your settings, otherwise UTC.'),
})

export const NotificationConfig = z
  .object({
    ...base,
    toasts: z.boolean(),
    sound: z.boolean(),
    quiet_hours: quietHours
      .nullable()
      .describe('During quiet hours, emails and push notifications are held back, and toasts make no sound.'),
    quiet_now: z.boolean(),
    digest_at: clock.describe('When the daily email is sent.'),
    unread_count: z.number().int(),
  })
  .meta({ id: 'NotificationConfig' })

export const PushSubscription = z
  .object({ ...base, user_agent: z.string().nullable(), endpoint_origin: z.string(), last_success_at: time.nullable() })
  .meta({ id: 'PushSubscription' })

const EmailConfirmation = z
  .object({ id: idOut, created_at: time, email: z.string(), verified: z.boolean() })
  .meta({ id: 'EmailConfirmation' })

export const notifications = area(
  'notifications',
  { title: 'Notifications', summary: 'Notifications, and how they’re delivered: in the app, by email, or by push.' },
  {
    list: endpoint('GET /notifications', {
      summary: 'List your notifications',
      access: byScope('notification:read'),
      query: {
        status: status.optional().describe('Filters the list by status.'),
        type: type.optional(),
        severity: severity.optional(),
        workspace_id: id.optional(),
        since: time.optional().describe('Only notifications created at or after this time.'),
      },
      reply: page(Notification),
    }),
    preferences: endpoint('GET /notifications/preferences', {
      summary: 'Get delivery preferences by notification type',
      access: byScope('notification:read'),
      reply: one(Preferences),
    }),
    update_preferences: endpoint('PATCH /notifications/preferences', {
      summary: 'Update delivery preferences by notification type',
      access: account('notification:write'),
      body: {
        preferences: z
          .array(z.strictObject({ type, channel, enabled: z.boolean().optional(), digest: digest.optional() }))
          .min(1)
          .max(300),
      },
      reply: one(Preferences),
    }),
    config: endpoint('GET /notifications/config', {
      summary: 'Get the settings for toasts, sound and quiet hours',
      access: byScope('notification:read'),
      reply: one(NotificationConfig),
    }),
    update_config: endpoint('PATCH /notifications/config', {
      summary: 'Update the settings for toasts, sound and quiet hours',
      access: account('notification:write'),
      body: {
        toasts: z.boolean().optional(),
        sound: z.boolean().optional(),
        quiet_hours: z.strictObject(quietHours.shape).nullable().optional(),
        digest_at: clock.optional(),
      },
      reply: one(NotificationConfig),
      errors: ['invalid_time_zone'],
    }),
    request_email: endpoint('POST /notifications/request-email', {
      summary: 'Send an email to confirm your address',
      description: 'Notifications are sent only to confirmed email addresses.',
      access: account('notification:write'),
      reply: one(EmailConfirmation),
      errors: ['not_ready', 'rate_limited'],
      beyond: true,
    }),
    confirm_email: endpoint('POST /notifications/confirm-email', {
      summary: 'Confirm your email address with the token from the email',
      access: account('notification:write'),
      consent: 'person',
      body: { token: z.string().max(200) },
      reply: one(EmailConfirmation),
      errors: ['link_expired'],
      beyond: true,
    }),
    push_key: endpoint('GET /notifications/push-key', {
      summary: 'Get the public key for push subscriptions',
      description: 'The `applicationServerKey` of the Push API (VAPID, RFC 8292).',
      access: byScope('notification:read'),
      reply: one(z.object({ id: idOut, created_at: time, public_key: z.string() })),
      beyond: true,
    }),
    push_subscriptions: endpoint('GET /notifications/push-subscriptions', {
      summary: 'List the browsers that receive your push notifications',
      access: byScope('notification:read'),
      reply: page(PushSubscription),
      beyond: true,
    }),
    push_subscribe: endpoint('POST /notifications/push-subscriptions', {
      summary: 'Register a browser for push notifications',
      description:
        'Accepts the result of `PushSubscription.toJSON()` of the Push API. Registering the same browser again updates it. A registration made in a session ends with the session.',
      access: account('notification:write'),
      consent: 'person',
      body: {
        endpoint: z.url({ protocol: /^https?$/ }).max(2_048),
        keys: z.strictObject({
          // Examples from RFC 8291, 5.
          p256dh: z
            .string()
            .regex(/^[\w-]{87}=?$/, 'must be a P-256 point in base64url')
            .meta({
              examples: ['BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'],
            }),
          auth: z
            .string()
            .regex(/^[\w-]{22}={0,2}$/, 'must be 16 bytes in base64url')
            .meta({ examples: ['BTBZMqHH6r4Tts7J_aSIgg'] }),
        }),
        expirationTime: z
          .number()
          .nullable()
          .optional()
          .describe('Ignored. The push service reports when the subscription ends.'),
      },
      reply: one(PushSubscription),
      status: 201,
      errors: ['limit_reached'],
      beyond: true,
    }),
    push_unsubscribe: endpoint('DELETE /notifications/push-subscriptions/:id', {
      summary: 'Unregister a browser from push notifications',
      access: resource('push_subscription', { scope: 'notification:write' }),
      consent: 'person',
      reply: deleted,
      beyond: true,
    }),
    read_all: endpoint('POST /notifications/read-all', {
      summary: 'Mark all notifications as read',
      access: byScope('notification:write'),
      body: {
        type: type.optional().describe('Only notifications of this type.'),
        workspace_id: id.optional(),
        before: time.optional().describe('Only notifications created up to this time.'),
      },
      reply: one(z.object({ id: idOut, created_at: time, read_count: z.number().int() })),
    }),
    get: endpoint('GET /notifications/:id', {
      summary: 'Get a notification',
      access: resource('notification', { scope: 'notification:read' }),
      reply: one(Notification),
    }),
    send: endpoint('POST /notifications', {
      summary: 'Send a notification to yourself or to a member of one of your workspaces',
      example: { title: 'The print is ready' },
      access: byScope('notification:write'),
      body: {
        user_id: id.optional().describe('Default: yourself.'),
        type: type
          .default('message')
          .describe('`message`, or your own type such as `build.failed`. Types used by the server are rejected.'),
        title: words(200).pipe(z.string().trim().min(1)),
        body: words(4_000).nullable().default(null),
        severity: severity.optional(),
        resource: z.strictObject(resourceRef.shape).nullable().default(null),
        action_url: z
          .string()
          .max(2_048)
          .regex(/^\/(?![/\\])[^\s\\]*$/, 'must be a path of this server, such as /app/chats')
          .nullable()
          .default(null)
          .describe('The page to open: a path of this server, such as `/app/chats`.'),
      },
      reply: one(Notification),
      status: 201,
    }),
    update: endpoint('PATCH /notifications/:id', {
      summary: 'Mark a notification as read or unread',
      access: resource('notification', { scope: 'notification:write' }),
      body: { status },
      reply: one(Notification),
    }),
    delete: endpoint('DELETE /notifications/:id', {
      summary: 'Delete a notification',
      access: resource('notification', { scope: 'notification:write' }),
      consent: 'person',
      reply: deleted,
    }),
  },
)
