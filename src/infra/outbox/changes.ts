/**
 * The change log written by the relay and read by channel subscribers. `seq` orders all channels: relays write one
 * after the other, so a reader at a `seq` has everything below it.
 */
import { type Id, newId } from '#core/ids.ts'
import { keptValue } from '../processes/instance.ts'
import type { Db, Postgres } from '../postgres/client.ts'

export interface Change {
  seq: bigint
  channel: string
  /** Identifies the channel's current history. */
  epoch: Id
  offset: bigint
  type: string
  resource_type: string | null
  resource_id: string | null
  data: string
  at: Date
}

export interface ChannelState {
  channel: string
  epoch: Id
  /** The newest change's offset; 0 before the first. */
  offset: bigint
  /** The newest change no longer in the log. */
  gone_seq: bigint
}

const COLUMNS = `c.seq, c.channel, n.epoch, c."offset", c.type, c.resource_type, c.resource_id, c.data::text as data, c.at`

export const changesAfter = async ({ pool }: Postgres, seq: bigint, limit: number): Promise<Change[]> =>
  (
    await pool.query<Change>({
      name: 'changes_after',
      text: `select ${COLUMNS} from changes c join channels n on n.name = c.channel where c.seq > $1 order by c.seq limit $2`,
      values: [seq, limit],
    })
  ).rows

export const changesBetween = async (
  { pool }: Postgres,
  channels: readonly string[],
  { after, until, limit }: { after: bigint; until: bigint; limit: number },
): Promise<Change[]> =>
  (
    await pool.query<Change>({
      name: 'changes_between',
      text: `select ${COLUMNS} from unnest($1::text[]) w(name) join channels n on n.name = w.name cross join lateral (
          select * from changes x where x.channel = w.name and x.seq > $2 and x.seq <= $3 order by x.seq limit $4
        ) c order by c.seq limit $4`,
      values: [channels, after, until, limit],
    })
  ).rows

export async function channelStates(
  { pool }: Postgres,
  channels: readonly string[],
): Promise<{ head: bigint; states: ChannelState[] }> {
  const look = async (): Promise<{ head: bigint; states: ChannelState[] }> => {
    const { rows } = await pool.query<ChannelState & { head: bigint }>({
      name: 'channel_states',
      text: `select w.name as channel, n.epoch, n."offset", n.gone_seq, greatest(coalesce((select max(seq) from changes), 0), (${FORGOTTEN_SEQ_SQL})) as head
        from unnest($1::text[]) with ordinality w(name, place) left join channels n on n.name = w.name order by w.place`,
      values: [channels],
    })
    return { head: rows[0]!.head, states: rows }
  }
  const result = await look()
  const missing = result.states.filter(({ epoch }) => epoch === null).map(({ channel }) => channel)
  if (missing.length === 0) return result
  await pool.query(
    'insert into channels (name, epoch) select * from unnest($1::text[], $2::text[]) on conflict do nothing',
    [missing, missing.map(() => newId())],
  )
  return look()
}

export async function offsetsAt(
  { pool }: Postgres,
  channels: readonly string[],
  seq: bigint,
): Promise<Map<string, bigint>> {
  const { rows } = await pool.query<{ channel: string; offset: bigint }>({
    name: 'changes_offsets',
    text: `select w.name as channel, c."offset" - 1 as "offset" from unnest($1::text[]) w(name) cross join lateral (
      select "offset" from changes x where x.channel = w.name and x.seq > $2 order by x.seq limit 1) c`,
    values: [channels, seq],
  })
  return new Map(rows.map(({ channel, offset }) => [channel, offset]))
}

export const logEpoch = (db: Db): Promise<Id> => keptValue(db, 'changes_epoch', newId())

const FORGOTTEN_SEQ_SQL = `select coalesce(max(value::text::int8), 0) from instance where name = 'changes_forgotten'`
export const forgottenSeq = async ({ pool }: Postgres): Promise<bigint> =>
  (await pool.query<{ seq: bigint }>(`select (${FORGOTTEN_SEQ_SQL}) as seq`)).rows[0]!.seq

const RETAIN_BATCH = 10_000
/** Changes kept per channel regardless of age. */
const KEEP_CHANGES = 10_000
const KEEP_HOURS = 24
/** A channel silent for this long is deleted and recreated on use. */
const SILENT_DAYS = 30

/**
 * Deletes changes that are older than a day and not among the newest 10,000 of their channel, and channels silent for a
 * month. Returns the number of deleted changes.
 */
export async function retainChanges({ pool }: Pick<Postgres, 'pool'>): Promise<number> {
  let removedCount = 0
  for (;;) {
    const { rows } = await pool.query<{ n: number }>(
      `with gone as (
          delete from changes where ctid = any(array(
            select c.ctid from changes c join channels n on n.name = c.channel
            where c.at < now() - make_interval(hours => $2) and c."offset" <= n."offset" - $3 limit $1))
          returning channel, seq
        ), marked as (
          update channels n set gone_seq = greatest(n.gone_seq, g.seq)
          from (select channel, max(seq) as seq from gone group by channel) g where n.name = g.channel
        ) select count(*)::int as n from gone`,
      [RETAIN_BATCH, KEEP_HOURS, KEEP_CHANGES],
    )
    removedCount += rows[0]!.n
    if (rows[0]!.n < RETAIN_BATCH) break
  }
  for (;;) {
    const { rows } = await pool.query<{ channels: number; changes: number }>(
      `with silent as (
          delete from channels where name in (
            select name from channels where touched_at < now() - make_interval(days => $1) limit 500 for update skip locked)
          returning name
        ), gone as (
          delete from changes where channel in (select name from silent) returning seq
        ), marked as (
          insert into instance as i (name, value) select 'changes_forgotten', to_jsonb(max(seq)) from gone having max(seq) is not null
          on conflict (name) do update set value = to_jsonb(greatest(i.value::text::int8, excluded.value::text::int8))
        ) select (select count(*) from silent)::int as channels, (select count(*) from gone)::int as changes`,
      [SILENT_DAYS],
    )
    removedCount += rows[0]!.changes
    if (rows[0]!.channels === 0) return removedCount
  }
}
