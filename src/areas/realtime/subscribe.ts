import { type ChannelState, channelStates, forgottenSeq, offsetsAt } from '#engine/changes.ts'
import type { Context } from '#engine/context.ts'
import { iterate } from '#engine/iterate-feed.ts'
import type { Event, Feed, Sink } from '#kernel/contract.ts'
import { refuse } from '#kernel/errors.ts'
import { type Readable, noChannel, parseChannel, readable } from './channels.ts'
import { eventFrame } from './frames.ts'
import { type Hub, hubOf } from './hub.ts'
import { Reader } from './reader.ts'

const MOST_CHANNELS = 100

/** Where a subscription begins, and what it is told of that. */
interface Start {
  position: bigint
  /** The end of the log. */
  head: bigint
  /** Channels that begin later, because their changes since `position` are not all there. */
  from: Map<string, bigint>
  /** `subscribed`, and a `reset` for each channel that cannot go on where it was. */
  frames: Buffer[]
}

/** Refuses before the stream begins; afterwards a channel that may no longer be read is left with `revoked`. */
export async function subscribe(
  ctx: Context,
  { channels: words, last_event_id }: { channels: string; last_event_id?: string | undefined },
): Promise<Feed> {
  const channels = await readableOnes(ctx, words)
  const hub = hubOf(ctx.engine)
  const { position, head, from, frames } = await startOf(ctx, hub, [...channels.keys()], last_event_id)
  const reader = new Reader({ channels, position, from, recheck: recheckOf(hub, ctx) })
  let attached = false

  function attach(sink: Sink): Disposable {
    if (attached) throw new Error('a subscription has one reader')
    attached = true
    reader.attach(sink)
    for (const frame of frames) reader.add(frame)
    reader.flush()
    hub.add(reader, head)
    return { [Symbol.dispose]: () => hub.remove(reader) }
  }
  return {
    attach,
    recheck: (again) => reader.recheck(again as Context),
    [Symbol.asyncIterator]: (): AsyncIterator<Event> => iterate(attach, ctx.signal),
  }
}

async function readableOnes(ctx: Context, words: string): Promise<Map<string, Readable>> {
  const asked = [...new Set(words.split(',').map((name) => name.trim()))].filter(Boolean)
  if (asked.length === 0)
    return refuse('invalid_parameter', {
      param: 'channels',
      message: 'Name at least one channel, such as `user:<id>`.',
    })
  if (asked.length > MOST_CHANNELS)
    return refuse('invalid_parameter', {
      param: 'channels',
      message: `One stream takes ${MOST_CHANNELS} channels at most.`,
    })
  const found = new Map<string, Readable>()
  for (const name of asked) {
    const channel = parseChannel(name)
    const mine = channel && (await readable(ctx, channel))
    if (!mine) return refuse('not_found', { param: 'channels', message: noChannel(name) })
    found.set(mine.channel.name, mine)
  }
  return found
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
  // Of another log, or of this one before it was restored from an older copy.
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

/** Leaves what may not be read any more, with a word; when nothing is left, the stream ends. */
function recheckOf(hub: Hub, first: Context): (reader: Reader, ctx?: Context) => Promise<void> {
  let ctx = first
  return async (reader, again = ctx) => {
    ctx = again
    for (const [name, { channel }] of reader.channels) {
      const still = await readable(ctx, channel)
      // Two may look at once.
      if (!reader.channels.has(name)) continue
      if (still) reader.channels.set(name, still)
      else {
        hub.leave(reader, name)
        reader.say(eventFrame('revoked', { channel: name }))
      }
    }
    if (reader.channels.size === 0) reader.end()
  }
}
