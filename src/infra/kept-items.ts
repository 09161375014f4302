import type { Id } from '#core/ids.ts'
import type { Log } from './log.ts'
import type { Postgres } from './postgres/client.ts'
import type { Secrets } from './secrets.ts'

export interface KeptItem {
  id: string
  json: object
}

/** The caller. A key bound to one workspace can only reference items from that workspace. */
export interface KeptFor {
  accountId: Id
  heldTo: Id | null
}

/** Response items, encrypted and kept for a day, for clients that reference items instead of resending them. */
export interface KeptItems {
  /** Resolves when all processes can find them. Items that are too large or fail to store are skipped. */
  keep(whom: KeptFor, items: readonly KeptItem[]): Promise<void>
  find(whom: KeptFor, ids: readonly string[]): Promise<ReadonlyMap<string, object>>
}

const LARGEST_ITEM = 1 << 20
const MAX_BYTES = 64 << 20
const MAX_ITEMS = 10_000
const MAX_FOUND = 32 << 20
const PATIENCE_MS = 2_000

export function createKeptItems({
  postgres: { pool },
  secrets,
  log,
}: {
  postgres: Postgres
  secrets: Secrets
  log: Log
}): KeptItems {
  const bounding = new Set<Id>()

  async function trim(accountId: Id): Promise<void> {
    if (bounding.has(accountId)) return
    bounding.add(accountId)
    try {
      await pool.query(
        // One search for all rows, independent of the planner's estimate.
        `delete from kept_items where id = any(array(select id from (select id,
           sum(bytes) over newest as bytes, row_number() over newest as place
           from kept_items where account_id = $1 window newest as (order by created_at desc, id desc)) as kept
         where bytes > $2 or place > $3))`,
        [accountId, MAX_BYTES, MAX_ITEMS],
      )
    } finally {
      bounding.delete(accountId)
    }
  }

  async function insert({ accountId, heldTo }: KeptFor, items: readonly KeptItem[]): Promise<void> {
    const rows = items
      .map(({ id, json }) => ({ id, text: JSON.stringify(json) }))
      .filter(({ text }) => text.length <= LARGEST_ITEM)
    if (rows.length === 0) return
    await pool.query(
      `insert into kept_items (id, account_id, held_to, sealed, bytes)
       select id, $1, $5, sealed, bytes from unnest($2::text[], $3::text[], $4::integer[]) as item (id, sealed, bytes)
       on conflict do nothing`,
      [
        accountId,
        rows.map(({ id }) => id),
        rows.map(({ id, text }) => secrets.seal(text, id)),
        rows.map(({ text }) => Buffer.byteLength(text)),
        heldTo,
      ],
    )
    await trim(accountId)
  }

  /**
   * The decrypted item, or none if the key is unknown: during a root key rotation another process may already use the
   * new one.
   */
  function openItem({ id, sealed }: { id: string; sealed: string }): [id: string, json: object][] {
    try {
      return [[id, JSON.parse(secrets.open(sealed, id)) as object]]
    } catch (error) {
      log.warn({ error }, 'a stored item cannot be decrypted')
      return []
    }
  }

  return {
    async keep(whom, items) {
      let timer: NodeJS.Timeout | undefined
      const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)))
      const insertion = insert(whom, items).catch((error: unknown) =>
        log.warn({ error }, 'items of a response could not be stored'),
      )
      await Promise.race([insertion, patience])
      clearTimeout(timer)
    },
    async find({ accountId, heldTo }, ids) {
      const { rows } = await pool.query<{ id: string; sealed: string }>(
        `select id, sealed from (select id, sealed, sum(bytes) over (order by id) as bytes from kept_items
           where account_id = $1 and id = any($2::text[]) and ($4::ulid is null or held_to = $4) and created_at > now() - interval '1 day') as kept
         where bytes <= $3`,
        [accountId, ids, MAX_FOUND, heldTo],
      )
      return new Map(rows.flatMap(openItem))
    },
  }
}

export async function retainKeptItems({ pool }: Postgres): Promise<void> {
  await pool.query(`delete from kept_items where created_at < now() - interval '1 day'`)
}
