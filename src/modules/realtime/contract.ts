import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { area, endpoint, id, idOut, one, page, stream, time, words } from '#core/contract.ts'

const channelName = z.string().max(120)
const channelParam = {
  channel: channelName.describe(
    '`user:<id>`, `workspace:<id>`, `chat:<id>`, `operation:<id>` or `custom:<workspace id>:<name>`.',
  ),
}
const offset = z.number().int().describe('Increases by 1 with every change in the channel, within an epoch.')
const position = { channel: z.string(), epoch: idOut.describe('Identifies the history that offsets refer to.'), offset }

export const PresenceMember = z
  .object({
    id: idOut,
    created_at: time,
    updated_at: time,
    channel: z.string(),
    user_id: idOut,
    data: z.record(z.string(), z.unknown()).nullable(),
    expires_at: time.describe('When they’re considered gone unless they check in again.'),
  })
  .meta({ id: 'PresenceMember' })

export const Broadcast = z
  .object({
    id: idOut,
    created_at: time,
    channel: z.string(),
    event: z.string(),
  })
  .meta({ id: 'Broadcast' })

const eventSchema = <const E extends string, D extends z.ZodRawShape>(event: E, data: D) =>
  z.object({ event: z.literal(event), data: z.object(data) })

export const RealtimeEvent = z
  .discriminatedUnion('event', [
    eventSchema('subscribed', {
      channels: z.array(
        z.object({ ...position, recovered: z.boolean().describe('Events since the given position follow.') }),
      ),
    }),
    eventSchema('change', {
      ...position,
      type: z.string().describe('The event type, such as `chat.created`.'),
      resource: z.object({ type: z.string(), id: z.string() }).nullable(),
      data: z.record(z.string(), z.unknown()),
      at: time,
    }),
    eventSchema('broadcast', {
      channel: z.string(),
      event: z.string(),
      data: z.unknown(),
      sender: idOut.describe('The account that sent it.'),
      at: time,
    }),
    eventSchema('presence', {
      channel: z.string(),
      joined: z.boolean(),
      left: z.boolean().describe('Exactly one of the two is true.'),
      member: PresenceMember,
    }),
    eventSchema('reset', {
      ...position,
      reason: z
        .enum(['unknown_epoch', 'history_gone'])
        .describe('Why the events since the given position aren’t available. Fetch the current state again.'),
    }),
    eventSchema('revoked', {
      channel: z.string().describe('You no longer have access to this channel. The stream continues with the others.'),
    }),
  ])
  .meta({ id: 'RealtimeEvent' })

export const realtime = area(
  'realtime',
  { title: 'Realtime', summary: 'Live events, broadcasts and presence.' },
  {
    subscribe: endpoint('GET /realtime/subscribe', {
      summary: 'Stream the events of one or more channels',
      description:
        'Durable events are ordered within a channel and kept for at least one day. Events about resources you can’t read are left out, so `offset` can skip numbers. To resume, send the last `id` back in `Last-Event-ID` or `last_event_id`: you get the missed events, or `reset` if they’re no longer available. Broadcasts and presence are only delivered live.',
      access: byScope('realtime:read'),
      query: {
        channels: z
          .string()
          .max(12_000)
          .describe('Comma-separated, up to 100. If you can’t read one of them, the response is 404.'),
        last_event_id: z.string().max(100).optional().describe('Where to resume.'),
      },
      reply: stream(RealtimeEvent),
    }),
    broadcast: endpoint('POST /realtime/:channel/broadcast', {
      summary: 'Send a broadcast to the subscribers of a channel',
      description: 'Broadcasts aren’t stored: only current subscribers receive them. The body can have up to 64 KiB.',
      access: byScope('realtime:write'),
      params: channelParam,
      body: {
        event: words(100).pipe(z.string().min(1)).describe('A name of your choice.'),
        data: z.unknown().default(null),
      },
      reply: one(Broadcast),
      bodyLimit: 65_536,
      errors: ['payload_too_large'],
    }),
    heartbeat: endpoint('POST /realtime/:channel/presence', {
      summary: 'Set your presence',
      description: 'Presence lasts 30 seconds. Repeat the request while you’re present.',
      access: byScope('realtime:write'),
      params: channelParam,
      body: {
        data: z
          .record(z.string().max(200), z.unknown())
          .nullable()
          .optional()
          .describe('Data shown to others, up to 4 KiB. If omitted, it stays unchanged.'),
      },
      reply: one(PresenceMember),
    }),
    present: endpoint('GET /realtime/:channel/presence', {
      summary: 'List who is present',
      access: byScope('realtime:read'),
      params: channelParam,
      query: { user_id: id.optional().describe('Only this channel.') },
      reply: page(PresenceMember),
    }),
  },
)
