import { sql } from 'kysely'
import type { Context, Engine } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { iso } from '#core/time.ts'
import { channelOf, checkMaySend } from './channels.ts'
import { realtime } from './contract.ts'
import type { HasHub, Hub } from './hub.ts'
import { type PresenceRow, presence } from './presence-store.ts'
import type { Reader } from './reader.ts'
import { subscribe } from './subscribe.ts'

const MAX_DATA_BYTES = 4_096
const MAX_CHECKS = 8

export { type HasHub, openHub } from './hub.ts'

export const realtimeService = implementWith<Context<HasHub>>()(realtime, {
  subscribe,

  async broadcast(ctx, { channel: words, event, data }) {
    const readable = await channelOf(ctx, words)
    checkMaySend(readable)
    const { name } = readable.channel
    const at = iso(ctx.now())
    ctx.engine.hub.broadcast(name, 'broadcast', { channel: name, event, data, sender: ctx.principal.accountId, at })
    return { id: newId(), created_at: at, channel: name, event }
  },

  async heartbeat(ctx, { channel: words, data }) {
    const readable = await channelOf(ctx, words)
    checkMaySend(readable)
    if (data && Buffer.byteLength(JSON.stringify(data)) > MAX_DATA_BYTES)
      refuse('invalid_parameter', { param: 'data', message: `\`data\` can have up to ${MAX_DATA_BYTES} bytes.` })
    const channel = readable.channel.name
    const row = await presence.heartbeat(ctx.db, { id: newId(), channel, userId: ctx.principal.accountId, data })
    if (row.joined) broadcastPresence(ctx.engine.hub, row, 'joined')
    return show(row)
  },

  async present(ctx, { channel: words, user_id, cursor, limit }) {
    const { channel } = await channelOf(ctx, words)
    const filters = { channel: channel.name, user_id }
    const before = positionOf('presence', filters, cursor)
    const rows = await presence.list(ctx.db, {
      channel: channel.name,
      userId: user_id,
      before: (before?.[0] as Id) ?? null,
      limit: limit + 1,
    })
    return pageOf(rows, limit, ({ id }) => cursorOf('presence', filters, [id]), show)
  },
})

const show = (row: PresenceRow) => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  channel: row.channel,
  user_id: row.user_id,
  data: row.data,
  expires_at: iso(row.expires_at),
})

const broadcastPresence = (hub: Hub, row: PresenceRow, how: 'joined' | 'left'): void =>
  hub.broadcast(row.channel, 'presence', {
    channel: row.channel,
    joined: how === 'joined',
    left: how === 'left',
    member: show(row),
  })

const EXPIRE_MS = 1_000
/** Access can end without a permission change, when a chat moves. This is noticed within 5 s. */
const PLACES_MS = 3_000

export function startRealtime(engine: Pick<Engine<HasHub>, 'hub' | 'log' | 'postgres'>): AsyncDisposable {
  const { hub } = engine
  const { db } = engine.postgres

  async function expire(): Promise<void> {
    for (const row of await presence.expire(db)) broadcastPresence(hub, row, 'left')
  }
  const timers = [repeat(engine, EXPIRE_MS, expire), repeat(engine, PLACES_MS, () => checkPlaces(engine, hub))]
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(timers.map((timer) => timer[Symbol.asyncDispose]()))
    },
  }
}

async function checkPlaces({ postgres: { db } }: Pick<Context['engine'], 'postgres'>, hub: Hub): Promise<void> {
  const ids = [...hub.channels()].filter((name) => name.startsWith('chat:')).map((name) => name.slice(5))
  if (ids.length === 0) return
  const rows = await db
    .selectFrom('resources')
    .select(['id', 'workspace_id', 'status'])
    .where(sql<boolean>`id = any(${ids}::ulid[])`)
    .execute()
  const changedReaders = new Set<Reader>()
  const places = new Map(rows.map((row) => [row.id, row]))
  for (const id of ids)
    for (const reader of hub.readers(`chat:${id}`)) {
      const readableChannel = reader.channels.get(`chat:${id}`)
      const place = places.get(id)
      if (
        readableChannel?.workspaceId !== place?.workspace_id ||
        (readableChannel?.shared && place?.status === 'trashed')
      )
        changedReaders.add(reader)
    }
  const remaining = [...changedReaders]
  const lane = async (): Promise<void> => {
    for (let reader = remaining.pop(); reader; reader = remaining.pop()) await reader.recheckAccess()
  }
  await Promise.all(Array.from({ length: MAX_CHECKS }, lane))
}

function repeat({ log }: Pick<Engine, 'log'>, ms: number, work: () => Promise<void>): AsyncDisposable {
  let running: Promise<void> | null = null
  const timer = setInterval(() => {
    running ??= work()
      .catch((error: unknown) => log.warn({ error }, 'realtime cannot query the database right now'))
      .finally(() => (running = null))
  }, ms)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await running
    },
  }
}

export const isPresent = async (db: Context['db'], channel: string, userId: Id): Promise<boolean> =>
  (await presence.list(db, { channel, userId, before: null, limit: 1 })).length > 0
