import type { Id } from '#core/ids.ts'
import { NANO, type Nano } from '#core/money.ts'
import { storable } from '#core/text/storable.ts'
import { type CallCap, isReserved, spendSubjectsOf, drawsBalance, isGuarded, capsOf } from '../caps.ts'
import type { AnsweredRequest, MeteredCall, Outcome, Payer } from '../ledger.ts'
import { shorten } from '#core/text/shorten.ts'

/** One call for `settle_batch`: `line` has the fields of its own in that function's order, but for the place of what it shares. */
export interface Item {
  id: Id
  /** The call holds a reservation: its id may come again. */
  reserved: boolean
  /** Null: it was never sent, and is released. */
  shared: SharedFields | null
  line: string
}

/** The columns that the calls of one payer and model have in common on one day. The same object for calls that come one after the other. */
export interface SharedFields {
  day: number
  surface: string
  model: string
  endpointId: Id | null
  billing: string
  /** The part of a record that is known when a call begins, as JSON; a reservation keeps it for the case that its process dies. */
  text: string
  /** The payer's account. */
  payer: Id
  /** The account whose balance such a call is taken off; null: nobody's. */
  account: Id | null
  caps: readonly CallCap[]
}

/**
 * Every call of a model becomes one of these, so it is written out by hand: what a payer's calls of one model share is
 * put into words once, and there is no object in between.
 */
export function settleItem(call: MeteredCall, outcome: Outcome): Item {
  const { usage, cost, firstTokenMs, finishReason, costSource, request = null } = outcome
  const line =
    `\t${call.id}\t${call.startedAt.getTime()}\t${outcome.status}\t${whole(usage.input_tokens)}\t${whole(usage.output_tokens)}` +
    `\t${whole(usage.total_tokens)}\t${whole(usage.requests)}\t${whole(usage.cache_read_tokens)}\t${whole(usage.reasoning_tokens)}` +
    `\t${whole(usage.cache_write_5m_tokens)}\t${whole(usage.cache_write_1h_tokens)}\t${whole(usage.images)}\t${seconds(usage.audio_seconds)}` +
    `\t${cost === null ? '' : clampCost(cost)}\t${costSource ?? ''}\t${finishReason === null ? '' : inLine(finishReason)}` +
    `\t${firstTokenMs === null ? '' : milliseconds(firstTokenMs)}\t${milliseconds(outcome.durationMs)}\t${outcome.streamed}` +
    (usage.characters > 0 || usage.video_seconds > 0 || request !== null
      ? `\t${whole(usage.characters)}\t${seconds(usage.video_seconds)}`
      : '') +
    (request === null ? '' : `\t${request.bytes ?? ''}`)
  const shared = request === null ? sharedBy(call) : sharedByAnswered(call, request)
  return { id: call.id, reserved: isReserved(call.payer, call.billing), shared, line }
}

/** A call that was sent, and of whose end nothing is known. Nobody is charged for it: what is charged is held. */
export const interruptedLine = (id: Id, startedMs: number): string =>
  `\t${id}\t${startedMs}\tfailed\t0\t0\t0\t1\t0\t0\t0\t0\t0\t0\t0\testimated\tinterrupted\t\t0\tfalse`

/** Providers' words are nearly always plain; a tab or a line's end would make two fields of them. */
const inLine = (words: string): string =>
  /^[a-z_]{1,64}$/.test(words) ? words : short(words).replaceAll(/[\t\n]/g, ' ')

export const releaseItem = (id: Id): Item => ({ id, reserved: true, shared: null, line: `\t${id}` })

// The last model of each payer: most call one after the other.
const sharedByPayer = new WeakMap<Payer, SharedFields>()

/** The columns that this call has in common with its payer's others of the model. */
export function sharedBy(call: MeteredCall): SharedFields {
  const { payer, surface, model, endpointId, billing, startedAt } = call
  const day = Math.floor(startedAt.getTime() / 86_400_000)
  const before = sharedByPayer.get(payer)
  if (
    before?.day === day &&
    before.surface === surface &&
    before.model === model &&
    before.endpointId === endpointId &&
    before.billing === billing
  )
    return before
  const shared: SharedFields = {
    day,
    surface,
    model,
    endpointId,
    billing,
    text: JSON.stringify(columnsOf(call)),
    payer: payer.accountId,
    account: drawsBalance(payer, billing) ? payer.accountId : null,
    caps: capsOf(payer, startedAt),
  }
  sharedByPayer.set(payer, shared)
  return shared
}

interface AnsweredShared extends SharedFields {
  request: AnsweredRequest
}

// The last kind of request of each.
const answeredCache = new WeakMap<SharedFields, AnsweredShared>()

/** The same for calls whose records stand for their requests. */
function sharedByAnswered(call: MeteredCall, request: AnsweredRequest): SharedFields {
  const shared = sharedBy(call)
  const { path, askedModel, why } = request
  const before = answeredCache.get(shared)?.request
  if (before?.path === path && before.askedModel === askedModel && before.why === why) return answeredCache.get(shared)!
  const requestFields = { path: path && short(path), asked_model: askedModel && short(askedModel), why: short(why) }
  const one = { ...shared, request, text: JSON.stringify({ ...columnsOf(call), ...requestFields }) }
  answeredCache.set(shared, one)
  return one
}

const columnsOf = (call: MeteredCall): object => ({
  guarded: isGuarded(call.payer, call.billing),
  account_id: call.payer.accountId,
  workspace_id: call.payer.workspaceId,
  key_id: call.payer.key?.id,
  chat_id: call.payer.chatId,
  run_id: call.payer.runId,
  message_id: call.payer.messageId,
  surface: call.surface,
  model: short(call.model),
  provider: short(call.provider),
  endpoint_id: call.endpointId,
  billing: call.billing,
  ...spendSubjectsOf(call),
})

// Counts and words come from providers: what a column cannot hold must not keep a thousand others from being settled.
const seconds = (count: number): number => (count > 0 ? Math.min(MOST_UNITS, count) : 0)
const whole = (count: number): number =>
  Number.isFinite(count) ? Math.min(MOST_UNITS, Math.max(0, Math.round(count))) : 0
/** Far above any call, and so far below what a column holds that a day's sum of such claims still fits. */
const MOST_UNITS = 1e12
/**
 * The cost that is billed, a million dollars at most: a provider that reports more is wrong, and a row of such calls
 * must still sum up.
 */
export const clampCost = (cost: Nano): Nano => (cost < 0n ? 0n : cost > MOST ? MOST : cost)
const MOST = 1_000_000n * NANO
const milliseconds = (count: number): number => Math.min(2 ** 31 - 1, whole(count))
const short = (words: string): string => storable(shorten(words, 512))
