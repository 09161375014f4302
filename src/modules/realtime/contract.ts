import { z } from 'zod'
import { area, endpoint, id, idOut, one, page, stream, time, words } from '#core/contract.ts'

const channelName = z.string().max(120)
const channelParam = {
  channel: channelName.describe(
    '`user:<id>`, `workspace:<id>`, `chat:<id>`, `operation:<id>` or `custom:<workspace id>:<name>`.',
  ),
}
const offset = z.number().int().describe('Rises by one per change of the channel, within an epoch.')
const position = { channel: z.string(), epoch: idOut.describe('Names the history that offsets count in.'), offset }

export const PresenceMember = z
  .object({
    id: idOut,
    created_at: time,
    updated_at: time,
    channel: z.string(),
    user_id: idOut,
    data: z.record(z.string(), z.unknown()).nullable(),
    expires_at: time.describe('When they count as gone if they are not heard of before.'),
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

const of = <const E extends string, D extends z.ZodRawShape>(event: E, data: D) =>
  z.object({ event: z.literal(event), data: z.object(data) })

export const RealtimeEvent = z
  .discriminatedUnion('event', [
    of('subscribed', {
      channels: z.array(
        z.object({ ...position, recovered: z.boolean().describe('What came since the given position follows.') }),
      ),
    }),
    of('change', {
      ...position,
      type: z.string().describe('Such as `chat.created`.'),
      resource: z.object({ type: z.string(), id: z.string() }).nullable(),
      data: z.record(z.string(), z.unknown()),
      at: time,
    }),
    of('broadcast', {
      channel: z.string(),
      event: z.string(),
      data: z.unknown(),
      sender: idOut.describe('The account that sent it.'),
      at: time,
    }),
    of('presence', {
      channel: z.string(),
      joined: z.boolean(),
      left: z.boolean().describe('One of the two is true.'),
      member: PresenceMember,
    }),
    of('reset', {
      ...position,
      reason: z
        .enum(['unknown_epoch', 'history_gone'])
        .describe('Why the changes since the given position cannot be told: fetch what you show again.'),
    }),
    of('revoked', { channel: z.string().describe('You may not read it any more; the others go on.') }),
  ])
  .meta({ id: 'RealtimeEvent' })

export const realtime = area(
  'realtime',
  { title: 'Realtime', summary: 'Changes as they happen, broadcasts, and who is there.' },
  {
    subscribe: endpoint('GET /realtime/subscribe', {
      summary: 'Follow one or more channels',
      description:
        'Durable changes come in one order per channel and are kept for a day at least; a change of a kind that you may not read is left out, so `offset` may skip. Send the last `id` back (`Last-Event-ID` or `last_event_id`) to go on where you were: what you missed comes first, or `reset` says that it cannot be told. Broadcasts and presence are for those who are there.',
      scope: 'realtime:read',
      query: {
        channels: z
          .string()
          .max(12_000)
          .describe('Separated by commas, 100 at most. One that you may not read makes it 404.'),
        last_event_id: z.string().max(100).optional().describe('Where to go on.'),
      },
      reply: stream(RealtimeEvent),
    }),
    broadcast: endpoint('POST /realtime/:channel/broadcast', {
      summary: 'Tell those who follow a channel',
      description: 'Nothing is kept: who is not there does not hear it. The body may have 64 KiB.',
      scope: 'realtime:write',
      params: channelParam,
      body: {
        event: words(100).pipe(z.string().min(1)).describe('Yours to name.'),
        data: z.unknown().default(null),
      },
      reply: one(Broadcast),
      bodyLimit: 65_536,
      errors: ['payload_too_large'],
    }),
    heartbeat: endpoint('POST /realtime/:channel/presence', {
      summary: 'Say that you are there',
      description: 'Holds for 30 seconds: repeat it for as long as you are there.',
      scope: 'realtime:write',
      params: channelParam,
      body: {
        data: z
          .record(z.string().max(200), z.unknown())
          .nullable()
          .optional()
          .describe('What the others see of you, up to 4 KiB. Left out: as it was.'),
      },
      reply: one(PresenceMember),
    }),
    present: endpoint('GET /realtime/:channel/presence', {
      summary: 'List who is there',
      scope: 'realtime:read',
      params: channelParam,
      query: { user_id: id.optional().describe('Only this one.') },
      reply: page(PresenceMember),
    }),
  },
)
