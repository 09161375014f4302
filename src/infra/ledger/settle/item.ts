import type { Id } from '#core/ids.ts'
import { NANO, type Nano } from '#core/money.ts'
import { storable } from '#core/text/storable.ts'
import { type CallCap, isReserved, spendSubjectsOf, drawsBalance, isGuarded, capsOf } from '../caps.ts'
import type { AnsweredRequest, MeteredCall, Outcome, Payer } from '../ledger.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * A call for `settle_batch`. `line` has its individual fields in that function's order, except the index of the shared
 * ones.
 */
export interface Item {
  id: Id
  reserved: boolean
  shared: SharedFields | null
  line: string
}

/** Columns shared by calls of one payer and model on one day. Consecutive calls share the object. */
export interface SharedFields {
  day: number
  surface: string
  model: string
  endpointId: Id | null
  billing: string
  /** Fields known at the start, as JSON; a reservation stores them in case the process dies. */
  text: string
  payer: Id
  account: Id | null
  caps: readonly CallCap[]
}

/**
 * Hand-written because every model call needs it: shared fields are encoded once, and no intermediate object is
 * created.
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

/** A sent call with an unknown outcome. It isn't charged, because calls that cost credits are always reserved. */
export const interruptedLine = (id: Id, startedMs: number): string =>
  `\t${id}\t${startedMs}\tfailed\t0\t0\t0\t1\t0\t0\t0\t0\t0\t0\t0\testimated\tinterrupted\t\t0\tfalse`

/** Providers' text is usually plain; a tab or line break would split fields. */
const inLine = (words: string): string =>
  /^[a-z_]{1,64}$/.test(words) ? words : short(words).replaceAll(/[\t\n]/g, ' ')

export const releaseItem = (id: Id): Item => ({ id, reserved: true, shared: null, line: `\t${id}` })

// Each payer's last model: most calls repeat it.
const sharedByPayer = new WeakMap<Payer, SharedFields>()

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

const answeredCache = new WeakMap<SharedFields, AnsweredShared>()

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

// Providers supply counts and text: one invalid value must not block a thousand other settlements.
const seconds = (count: number): number => (count > 0 ? Math.min(MAX_UNITS, count) : 0)
const whole = (count: number): number =>
  Number.isFinite(count) ? Math.min(MAX_UNITS, Math.max(0, Math.round(count))) : 0
/** Far above any call, and low enough that a day's sum fits the column. */
const MAX_UNITS = 1e12
/** The billed cost, up to a million dollars: a higher provider report is wrong, and sums must not overflow. */
export const clampCost = (cost: Nano): Nano => (cost < 0n ? 0n : cost > MAX ? MAX : cost)
const MAX = 1_000_000n * NANO
const milliseconds = (count: number): number => Math.min(2 ** 31 - 1, whole(count))
const short = (words: string): string => storable(shorten(words, 512))
