import type pg from 'pg'
import { type Code, Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Budget, type Nano, formatUsd, toUsd } from '#core/money.ts'
import type { CallCap } from './caps.ts'
import { type SharedFields, sharedBy } from './settle/item.ts'
import type { MeteredCall } from './ledger.ts'
import { ledgerFunctions } from '../postgres/functions.ts'

export interface Reserve {
  call: MeteredCall
  worst: Nano
  /** The minimum to reserve if the worst case isn't available. */
  least: Nano
}

/**
 * Larger than any balance or cap, so more expensive calls are refused, and small enough to be added to one without
 * exceeding 2⁶³.
 */
const MAX: Nano = 2n ** 61n
const most = (nano: Nano): Nano => (nano > MAX ? MAX : nano)

const statement = {
  name: 'reserve_calls',
  text: `select item, refused_by, amount from ${ledgerFunctions.schema}.reserve_calls(${Array.from({ length: 21 }, (_, i) => `$${i + 1}`).join(', ')})`,
}

export async function reserveAll(pool: pg.Pool, processId: Id, items: readonly Reserve[]): Promise<(Nano | Error)[]> {
  const accounts = new ReserveColumns()
  const capColumns = new ReserveColumns()
  const kinds = new Map<SharedFields, Kind>()
  const places: number[] = []
  for (const { call, worst } of items) {
    const shared = sharedBy(call)
    let kind = kinds.get(shared)
    if (kind === undefined)
      kinds.set(
        shared,
        (kind = {
          place: kinds.size + 1,
          account: shared.account === null ? 0 : accounts.place(shared.account, MAX),
          caps: shared.caps.map(({ subject, period, cap }) => capColumns.place(`${subject} ${period}`, cap)),
        }),
      )
    places.push(kind.place)
    const amount = most(worst)
    if (kind.account > 0) accounts.add(kind.account, amount)
    for (const place of kind.caps) capColumns.add(place, amount)
  }
  const shared = [...kinds.keys()]
  const over = [...kinds.values()]
  let last = 0
  const lasts = over.map((kind) => (last += kind.caps.length))
  const names = capColumns.names()
  const { rows } = await pool.query<{ item: number; refused_by: number | null; amount: Nano }>({
    ...statement,
    values: [
      processId,
      list(accounts.names()),
      list(accounts.sums.map(most)),
      list(names.map((name) => name.slice(0, 26))),
      list(names.map((name) => name.slice(27))),
      list(capColumns.sums.map(most)),
      list(capColumns.caps),
      `[${shared.map(({ text }) => text).join(',')}]`,
      list(shared.map(({ payer }) => payer)),
      list(shared.map(({ caps }) => inList(caps.map(({ subject }) => subject)))),
      list(shared.map(({ caps }) => inList(caps.map(({ period }) => period)))),
      list(over.map(({ account }) => account)),
      list(over.map((kind, i) => lasts[i]! - kind.caps.length + 1)),
      list(lasts),
      list(over.flatMap((kind) => kind.caps)),
      list(shared.flatMap((one) => one.caps.map(({ cap }) => cap))),
      list(items.map(({ call }) => call.id)),
      list(items.map(({ call }) => call.startedAt.getTime())),
      list(items.map(({ worst }) => most(worst))),
      list(items.map(({ least }) => most(least))),
      list(places),
    ],
  })
  const results: (Nano | Error)[] = items.map(({ worst }) => worst)
  for (const { item, refused_by: by, amount } of rows)
    results[item - 1] =
      by === null ? amount : refusal(items[item - 1]!, shared[places[item - 1]! - 1]!.caps[by - 1], by, amount)
  return results
}

/** Numbers, IDs, and periods need no quotes. */
const list = (values: readonly (string | number | bigint)[]): string => `{${values.join(',')}}`

const inList = (values: readonly string[]): string => `"${list(values)}"`

/** Calls of a batch with the same payer and model: indexes of the account and its caps. */
interface Kind {
  place: number
  account: number
  caps: readonly number[]
}

function refusal({ call, worst }: Reserve, cap: CallCap | undefined, by: number, available: Nano): Error {
  if (by < 0) return new Error(`call ${call.id} is reserved already: every attempt needs an id of its own`)
  const purse = purses[cap?.of ?? 'account']
  const spendable = available > 0n ? available : 0n
  const param = purse.param !== undefined && { param: purse.param }
  const needed_usd = toUsd(worst)
  const whole = new Refusal(purse.code, {
    ...param,
    message: `${purse.called} doesn’t cover this request: ${formatUsd(spendable)} USD are left, and the request can cost up to ${formatUsd(worst)} USD. ${purse.remedy}`,
    details: {
      available_usd: toUsd(spendable),
      needed_usd,
      ...(cap && cap.of !== 'key' && { budget: cap.of, subject: cap.subject }),
      ...(cap && { period: cap.period, cap_usd: toUsd(cap.cap) }),
    },
  })
  const secret = call.payer.guest === true && cap?.of === 'workspace'
  if (!secret && (!call.payer.overheard || (cap && ofChat.has(cap.of)))) return whole
  return new Refusal(purse.code, {
    ...param,
    message: `${purse.called} doesn’t cover this request, which can cost up to ${formatUsd(worst)} USD. ${purse.remedy}`,
    details: { needed_usd },
    ...(!secret && { toPayer: whole }),
  })
}

/** Caps whose remaining amount any reader of the chat may see. */
const ofChat: ReadonlySet<CallCap['of']> = new Set(['chat', 'goal', 'run'])

interface Purse {
  code: Code
  called: string
  param?: string
  remedy: string
}

const budget = (of: Budget['kind'], param: 'spend_cap_usd' | 'max_cost_usd'): Purse => ({
  code: 'budget_reached',
  called: `The budget of the ${of}`,
  param,
  remedy: `Raise \`${param}\` of the ${of}.`,
})

const purses: Record<'account' | CallCap['of'], Purse> = {
  account: {
    code: 'insufficient_credits',
    called: 'Your credit balance',
    remedy:
      'Ask an administrator of this instance for credits (Usage in the app, `uk me request-credits`, `POST /v1/me/credit-requests`), or add your own provider key (AI routing in the app, `uk ai-gateway create`), which doesn’t need credits.',
  },
  key: {
    code: 'spend_cap_reached',
    called: 'The key’s spend cap',
    remedy: 'Raise `spend_cap_usd` of the key.',
  },
  workspace: budget('workspace', 'spend_cap_usd'),
  member: {
    ...budget('member', 'spend_cap_usd'),
    remedy: 'Ask an admin of the workspace to raise your `spend_cap_usd`.',
  },
  agent: budget('agent', 'spend_cap_usd'),
  automation: budget('automation', 'max_cost_usd'),
  chat: budget('chat', 'max_cost_usd'),
  goal: budget('goal', 'max_cost_usd'),
  run: budget('run', 'max_cost_usd'),
}

/** Distinct accounts or caps with their index (from 1), requested amount, and lowest cap. */
class ReserveColumns {
  readonly #places = new Map<string, number>()
  readonly sums: Nano[] = []
  readonly caps: Nano[] = []

  place(name: string, cap: Nano): number {
    const place = this.#places.get(name)
    if (place !== undefined) {
      if (cap < this.caps[place - 1]!) this.caps[place - 1] = cap
      return place
    }
    this.#places.set(name, this.sums.push(0n))
    return this.caps.push(cap)
  }

  add(place: number, nano: Nano): void {
    this.sums[place - 1]! += nano
  }

  names(): string[] {
    return [...this.#places.keys()]
  }
}
