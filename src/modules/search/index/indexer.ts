import type { Engine } from '#infra/context.ts'
import type { Consumer, DeliveredEvent } from '#infra/outbox/deliveries.ts'
import type { JobHandler } from '#infra/jobs/jobs.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import type { Searchable } from '#infra/text/index/searchable.ts'
import type { Id } from '#core/ids.ts'
import { agentSearchable } from '#modules/agents/service.ts'
import { chatSearchable } from '#modules/chats/service.ts'
import { computerSearchable } from '#modules/computers/service.ts'
import { fileSearchable, learnFile } from '#modules/drive/service.ts'
import { type SearchHandles, createEmbedder } from './embedding.ts'
import { WORDS_VERSION, writeRows } from './rows.ts'

const sources: readonly Searchable[] = [fileSearchable, chatSearchable, agentSearchable, computerSearchable]
const BATCH = 200
/** Concurrent batches: one is read while PostgreSQL writes and commits others. */
const LANES = 3
/** Documents indexed at once. A job takes the rest, so that later events don't wait. */
const AT_ONCE = 2_000

const sourceOf = (type: string): Searchable | undefined =>
  sources.find(({ kinds }) => kinds.includes(type.split('.')[0]!))

export const searchConsumer = (engine: Engine): Consumer => ({
  name: 'search',
  types: engine.events.list
    .map(({ type }) => type)
    .filter((type) => sourceOf(type) !== undefined && !type.startsWith('run.')),
  handle: (event) => take(engine, [event]),
  together: (events) => take(engine, events),
})

async function take(engine: Engine, events: readonly DeliveredEvent[]): Promise<void> {
  let hasChanges = false
  for (const source of sources) {
    const sourceEvents = events.filter(({ type }) => sourceOf(type) === source)
    if (sourceEvents.length === 0) continue
    const ids = await source.findChanged(engine, sourceEvents)
    hasChanges ||= ids.length > 0
    await refresh(engine, source, ids.slice(0, AT_ONCE))
    for (let at = AT_ONCE; at < ids.length; at += AT_ONCE)
      await engine.jobs.add(engine.postgres, 'search.refresh', {
        kind: source.kinds[0],
        ids: ids.slice(at, at + AT_ONCE),
      })
  }
  if (hasChanges) await engine.jobs.add(engine.postgres, 'search.embed', {}, { key: 'search.embed' })
}

/**
 * Reads documents while the previous batch is written. Settles after all lanes, even on failure, so that a retry
 * doesn't overlap.
 */
async function refresh(engine: Engine, source: Searchable, ids: readonly Id[]): Promise<void> {
  let next = 0
  let writing: Promise<void> = Promise.resolve()
  const lane = async (): Promise<void> => {
    while (next < ids.length) {
      const batch = ids.slice(next, (next += BATCH))
      const documents = await source.read(engine, batch)
      // Skips later batches after a failed one.
      await (writing = writing.then(() => writeRows(engine.postgres.db, batch, documents)))
    }
  }
  const outcomes = await Promise.allSettled(Array.from({ length: LANES }, lane))
  for (const one of outcomes) if (one.status === 'rejected') throw one.reason
}

/** Reindexes in steps, one job each, so that a crash resumes where it stopped. */
async function reindex(engine: Engine, kind: string, after: Id | null): Promise<void> {
  const source = sourceOf(kind)
  if (source === undefined) return
  const ids = await source.all(engine, after, AT_ONCE)
  await refresh(engine, source, ids)
  if (ids.length === AT_ONCE) await engine.jobs.add(engine.postgres, 'search.reindex', { kind, after: ids.at(-1) })
}

const parts: ReadonlyMap<string, string> = new Map([
  ['note', 'file'],
  ['repository', 'file'],
])

/**
 * Rewrites rows whose words were split by an older version, newest first. They stay searchable meanwhile. A row that
 * fails waits for the next round.
 */
async function renew(engine: Engine, signal: AbortSignal): Promise<void> {
  for (let before: string | null = null; !signal.aborted;) {
    const { rows }: { rows: { row_id: string; id: Id; type: string }[] } = await engine.postgres.pool.query(
      `select row_id::text, id, type from search_rows where words_version < ${WORDS_VERSION} and ($1::int8 is null or row_id < $1)
      order by row_id desc limit ${BATCH * LANES}`,
      [before],
    )
    if (rows.length === 0) return
    for (const source of sources) {
      const ids = rows.filter(({ type }) => sourceOf(parts.get(type) ?? type) === source).map(({ id }) => id)
      if (ids.length > 0) await refresh(engine, source, ids)
    }
    before = rows.at(-1)!.row_id
  }
}

export function searchWork(engine: Engine<SearchHandles>): {
  handlers: Record<string, JobHandler>
  schedules: Schedule[]
} {
  const embed = createEmbedder(engine)
  return { handlers: jobs(engine, embed), schedules: schedules(engine, embed) }
}

type Embed = (signal: AbortSignal) => Promise<void>

const jobs = (engine: Engine, embed: Embed): Record<string, JobHandler> => ({
  'search.refresh': async ({ kind, ids }: { kind: string; ids: Id[] }) => {
    const source = sourceOf(kind)
    if (source !== undefined) await refresh(engine, source, ids)
  },
  'search.learn': async ({ id }: { id: Id }) => refresh(engine, fileSearchable, await learnFile(engine, id)),
  'search.reindex': async ({ kind, after }: { kind: string; after?: Id | null }) =>
    reindex(engine, kind, after ?? null),
  'search.embed': async (_: object, { signal }) => embed(signal),
})

/** Changing the number reindexes everything once. */
const FIRST_INDEX = 'search.indexed.2'

const schedules = (engine: Engine, embed: Embed): Schedule[] => [
  // Indexes documents from before the index existed, and embeds those that had no available model.
  every('search.begin', 86_400, async () => {
    const { rowCount } = await engine.postgres.pool.query(
      `insert into instance (name, value) values ($1, 'true') on conflict do nothing`,
      [FIRST_INDEX],
    )
    if (rowCount === 1) await beginReindex(engine)
  }),
  every('search.renew', 60, ({ signal }) => renew(engine, signal)),
  every('search.embed_rest', 60, ({ signal }) => embed(signal)),
]

export async function beginReindex(engine: Engine): Promise<void> {
  for (const { kinds } of sources)
    await engine.jobs.add(
      engine.postgres,
      'search.reindex',
      { kind: kinds[0], after: null },
      { key: `search.reindex:${kinds[0]}` },
    )
}
