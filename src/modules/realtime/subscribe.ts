import { type ChannelState, channelStates, forgottenSeq, offsetsAt } from '#infra/outbox/changes.ts'
import type { Context } from '#infra/context.ts'
import type { Feed } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { type Readable, unknownChannel, parseChannel, readable } from './channels.ts'
import { eventFrame } from './frames.ts'
import type { HasHub, Hub } from './hub.ts'
import { Reader, type Start } from './reader.ts'
import { shorten } from '#core/text/shorten.ts'

const MAX_CHANNELS = 100

/** Throws before the stream starts. Channels that later become unreadable get `revoked`. */
export async function subscribe(
  ctx: Context<HasHub>,
  { channels: words, last_event_id }: { channels: string; last_event_id?: string | undefined },
): Promise<Feed> {
  const channels = await readableOnes(ctx, words)
  const { hub } = ctx.engine
  return new Reader(hub, ctx, channels, await startOf(ctx, hub, [...channels.keys()], last_event_id))
}

async function readableOnes(ctx: Context, words: string): Promise<Map<string, Readable>> {
  const names = [...new Set(words.split(',').map((name) => name.trim()))].filter(Boolean)
  if (names.length === 0)
    return refuse('invalid_parameter', {
      param: 'channels',
      message: 'Name at least one channel, such as `user:<id>`.',
    })
  if (names.length > MAX_CHANNELS)
    return refuse('invalid_parameter', {
      param: 'channels',
      message: `A stream can have up to ${MAX_CHANNELS} channels.`,
    })
  const channels = new Map<string, Readable>()
  for (const name of names) {
    const channel = parseChannel(name)
    const readableChannel = channel && (await readable(ctx, channel))
    if (!readableChannel)
      return refuse('not_found', {
        param: 'channels',
        message: unknownChannel(name),
        details: { channel: shorten(name, 130) },
      })
    channels.set(readableChannel.channel.name, readableChannel)
  }
  return channels
}

async function startOf(
  { engine: { postgres } }: Context,
  hub: Hub,
  names: readonly string[],
  lastEventId: string | undefined,
): Promise<Start> {
  const { head, states } = await channelStates(postgres, names)
  if (lastEventId === undefined)
    return begin(
      hub,
      head,
      states,
      states.map(() => fresh),
    )
  const from = hub.positions.decode(lastEventId)
  // The position is from another log, or from before this one was restored from a backup.
  if (from === null || from > head)
    return begin(
      hub,
      head,
      states,
      states.map(() => 'unknown_epoch'),
    )
  const forgotten = from < (await forgottenSeq(postgres))
  const offsets = await offsetsAt(postgres, names, from)
  return begin(
    hub,
    head,
    states,
    states.map(({ channel, gone_seq }) =>
      forgotten || from < gone_seq ? 'history_gone' : { from, offset: offsets.get(channel) },
    ),
  )
}

const fresh = 'fresh'
type How = typeof fresh | 'unknown_epoch' | 'history_gone' | { from: bigint; offset: bigint | undefined }

function begin(hub: Hub, head: bigint, states: readonly ChannelState[], how: readonly How[]): Start {
  const resumed = how.find((each) => typeof each === 'object')
  const position = resumed?.from ?? head
  const channels = states.map(({ channel, epoch, offset }, i) => {
    const each = how[i]!
    const recovered = typeof each === 'object'
    return { channel, epoch, offset: Number((recovered ? each.offset : undefined) ?? offset), recovered }
  })
  const from = new Map<string, bigint>()
  if (position < head) states.forEach(({ channel }, i) => typeof how[i] === 'string' && from.set(channel, head))
  const id = hub.positions.encode(position)
  const resets = states.flatMap(({ channel, epoch, offset }, i) => {
    const reason = how[i]!
    if (typeof reason === 'object' || reason === fresh) return []
    return [eventFrame('reset', { channel, epoch, offset: Number(offset), reason }, id)]
  })
  return { position, head, from, frames: [eventFrame('subscribed', { channels }, id), ...resets] }
}
