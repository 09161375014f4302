import type pg from 'pg'
import { Refusal } from '#kernel/errors.ts'
import type { Id } from '#kernel/ids.ts'
import { type Nano, toUsd } from '#kernel/money.ts'
import { type Hold, draws, holdsOf } from './holds.ts'
import { callFields } from './item.ts'
import type { MeteredCall } from './ledger.ts'

export interface Reserve {
  call: MeteredCall
  worst: Nano
}

/** More than any balance or cap holds, and far enough below 2⁶³ to be added to one: what is dearer is refused all the same. */
const MOST: Nano = 2n ** 61n

const statement = {
  name: 'reserve_calls',
  text: 'select item, refused_by, available from reserve_calls($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)',
}

/** One round trip for all of them; answers per item null when it is held, or why it is not. */
export async function reserveAll(pool: pg.Pool, processId: Id, items: readonly Reserve[]): Promise<(Error | null)[]> {
  const accounts = new Places()
  const subjects = new Places()
  const holds: Hold[][] = []
  const firsts: number[] = []
  const lasts: number[] = []
  const places: number[] = []
  const caps: Nano[] = []
  const accountAt: number[] = []
  for (const { call } of items) {
    const { payer, billing } = call
    accountAt.push(draws(payer, billing) ? accounts.of(payer.accountId) : 0)
    const over = holdsOf(payer, call.startedAt)
    firsts.push(places.length + 1)
    for (const { subject, period, cap } of over) {
      places.push(subjects.of(`${subject} ${period}`))
      caps.push(cap)
    }
    lasts.push(places.length)
    holds.push(over)
  }
  const pairs = subjects.names().map((name) => name.split(' ') as [Id, string])
  const { rows } = await pool.query<{ item: number; refused_by: number; available: bigint }>({
    ...statement,
    values: [
      processId,
      accounts.names(),
      pairs.map(([subject]) => subject),
      pairs.map(([, period]) => period),
      items.map(({ call }) => call.id),
      items.map(({ worst }) => (worst > MOST ? MOST : worst)),
      accountAt,
      firsts,
      lasts,
      places,
      caps,
      JSON.stringify(items.map(({ call }) => callFields(call))),
    ],
  })
  const results: (Error | null)[] = items.map(() => null)
  for (const { item, refused_by, available } of rows)
    results[item - 1] = refusal(items[item - 1]!, holds[item - 1]![refused_by - 1], refused_by, available)
  return results
}

function refusal({ call, worst }: Reserve, hold: Hold | undefined, by: number, available: Nano): Error {
  if (by < 0) return new Error(`call ${call.id} is reserved already: every attempt needs an id of its own`)
  const of = hold?.of ?? null
  return new Refusal(of === null ? 'insufficient_credits' : of === 'key' ? 'spend_cap_reached' : 'budget_reached', {
    ...(of !== null && of !== 'key' && { message: `The budget of the ${of} does not cover this call.` }),
    details: {
      available_usd: toUsd(available > 0n ? available : 0n),
      needed_usd: toUsd(worst),
      ...(hold && hold.of !== 'key' && { budget: hold.of, subject: hold.subject }),
      ...(hold && { period: hold.period, cap_usd: toUsd(hold.cap) }),
    },
  })
}

/** Names without doubles, each with its place from 1. */
class Places {
  readonly #places = new Map<string, number>()

  of(name: string): number {
    const place = this.#places.get(name) ?? this.#places.size + 1
    this.#places.set(name, place)
    return place
  }

  names(): string[] {
    return [...this.#places.keys()]
  }
}
