import type { Id } from '#kernel/ids.ts'
import { NANO, type Nano } from '#kernel/money.ts'
import { storable } from '#kernel/storable.ts'
import { books, countedIn, guards } from './holds.ts'
import type { MeteredCall, Outcome, Payer } from './ledger.ts'

/**
 * One call for `settle_batch`: `shared` is the inside of a JSON object, what its payer's other calls of the model have
 * too; `own` the rest of the elements of a JSON array, in that function's order. Money as words, for JSON numbers are
 * not exact.
 */
export interface Item {
  id: Id
  /** It holds a reservation: its id may come again. */
  reserved: boolean
  shared: string
  own: string
}

/** The part of a record that is known when a call begins; a reservation keeps it for the case that its process dies. */
export const callFields = (call: MeteredCall): Record<string, unknown> => ({
  guarded: guards(call.payer, call.billing),
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
  started_at: call.startedAt,
  ...countedIn(call),
})

/**
 * Every call of a model becomes one of these, so it is written out by hand: what a payer's calls of one model share is
 * put into words once, and there is no object in between.
 */
export function settleItem(call: MeteredCall, outcome: Outcome): Item {
  const { usage, cost, firstTokenMs, finishReason, costSource } = outcome
  const audio = usage.audio_seconds > 0 ? Math.min(MOST_UNITS, usage.audio_seconds) : 0
  const own =
    `"${call.id}",${call.startedAt.getTime()},"${outcome.status}",${whole(usage.input_tokens)},${whole(usage.output_tokens)},` +
    `${whole(usage.total_tokens)},${whole(usage.requests)},${whole(usage.cache_read_tokens)},${whole(usage.reasoning_tokens)},` +
    `${whole(usage.cache_write_5m_tokens)},${whole(usage.cache_write_1h_tokens)},${whole(usage.images)},${audio},` +
    `${cost === null ? 'null' : `"${bill(cost)}"`},${costSource === null ? 'null' : `"${costSource}"`},` +
    `${finishReason === null ? 'null' : quoted(finishReason)},${firstTokenMs === null ? 'null' : milliseconds(firstTokenMs)},` +
    `${milliseconds(outcome.durationMs)},${outcome.streamed}`
  return { id: call.id, reserved: books(call.payer, call.billing), shared: sharedFields(call), own }
}

/** Providers' words are nearly always plain. */
const quoted = (words: string): string => (/^[a-z_]{1,64}$/.test(words) ? `"${words}"` : JSON.stringify(short(words)))

export const releaseItem = (id: Id): Item => ({ id, reserved: true, shared: '"act":"release"', own: `"${id}"` })

interface Shared {
  day: number
  surface: string
  model: string
  endpointId: Id | null
  billing: string
  text: string
}

// The last model of each payer: most call one after the other.
const shared = new WeakMap<Payer, Shared>()

/** The fields of a call that its payer's other calls of the model have too, as the inside of a JSON object. */
function sharedFields(call: MeteredCall): string {
  const { payer, surface, model, endpointId, billing } = call
  const day = Math.floor(call.startedAt.getTime() / 86_400_000)
  const known = shared.get(payer)
  if (
    known?.day === day &&
    known.surface === surface &&
    known.model === model &&
    known.endpointId === endpointId &&
    known.billing === billing
  )
    return known.text
  const { started_at: _, ...fields } = callFields(call)
  const text = JSON.stringify({ act: 'settle', ...fields }).slice(1, -1)
  shared.set(payer, { day, surface, model, endpointId, billing, text })
  return text
}

// Counts and words come from providers: what a column cannot hold must not keep a thousand others from being settled.
const whole = (count: number): number =>
  Number.isFinite(count) ? Math.min(MOST_UNITS, Math.max(0, Math.round(count))) : 0
/** Far above any call, and so far below what a column holds that a day's sum of such claims still fits. */
const MOST_UNITS = 1e12
/** No call costs more than a million dollars: whoever says so is wrong, and a row of calls that say so must still sum up. */
const bill = (cost: Nano): Nano => (cost < 0n ? 0n : cost > MOST ? MOST : cost)
const MOST = 1_000_000n * NANO
const milliseconds = (count: number): number => Math.min(2 ** 31 - 1, whole(count))
const short = (words: string): string => storable(words.slice(0, 512))
