import type { MeteredCall, Outcome, Payer } from '#infra/ledger/ledger.ts'
import { newId } from '#core/ids.ts'
import { usageOf } from '#core/usage.ts'

export const payer = (more: Partial<Payer> = {}): Payer => ({
  accountId: newId(),
  tier: 'standard',
  key: null,
  workspaceId: newId(),
  ...more,
})

export const call = (by: Payer, more: Partial<MeteredCall> = {}): MeteredCall => ({
  id: newId(),
  payer: by,
  surface: 'inference',
  model: 'sim/echo',
  provider: 'sim',
  endpointId: null,
  billing: 'credits',
  startedAt: new Date(),
  ...more,
})

export const outcome = (cost: bigint | null, more: Partial<Outcome> = {}): Outcome => ({
  status: 'succeeded',
  usage: usageOf({ input_tokens: 10, output_tokens: 5 }),
  cost,
  costSource: 'computed',
  finishReason: 'stop',
  firstTokenMs: 3,
  durationMs: 12,
  streamed: false,
  ...more,
})
