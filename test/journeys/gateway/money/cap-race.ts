import assert from 'node:assert/strict'
import { type Caller, type TestServer, caller } from '../../../server.ts'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { gatewayWorld, pricedModel, userMessages } from '../world.ts'
import { until } from '../../../until.ts'

/** The outcome of a race for a cap, in nano-dollars. */
export interface RaceResult {
  cap: bigint
  spent: bigint
  calls: number
  refused: number
  /** Calls served per route. */
  served: Record<string, number>
  milliseconds: number
}

const messages = userMessages('x'.repeat(60))
/** Every way to spend money through the gateways, whole and streamed, over providers of three shapes. */
const ways: Record<string, [path: string, body: object]> = {
  chat: ['/compat-a/v1/chat/completions', { model: 'oa/gpt-4o', max_tokens: 100, messages }],
  chat_stream: ['/compat-a/v1/chat/completions', { model: 'oa/gpt-4o', max_tokens: 100, messages, stream: true }],
  messages: ['/compat-b/v1/messages', { model: 'an/claude-haiku-4-5', max_tokens: 100, messages }],
  messages_stream: ['/compat-b/v1/messages', { model: 'an/claude-haiku-4-5', max_tokens: 100, messages, stream: true }],
  translated: ['/compat-c/v1/chat/completions', { model: 'an/claude-haiku-4-5', max_tokens: 100, messages }],
  responses: ['/compat-a/v1/responses', { model: 'rs/gpt-4o', max_output_tokens: 100, input: 'hello' }],
  responses_stream: [
    '/compat-a/v1/responses',
    { model: 'rs/gpt-4o', max_output_tokens: 100, input: 'hello', stream: true },
  ],
  embeddings: ['/compat-a/v1/embeddings', { model: 'oa/text-embedding-3-small', input: ['one', 'two'] }],
  inference: ['/inference/text', { model: 'oa/gpt-4o', max_output_tokens: 100, messages }],
}
const names = Object.keys(ways)

/**
 * Lets this many clients spend one key's cap over two server processes until no call fits. Each call reserves up to a
 * hundredth of the cap. Checks that the cap was never exceeded, that every vendor call is in the ledger, and that no
 * reservation is left.
 */
export async function raceCap(clients: number, capUsd: number): Promise<RaceResult> {
  const otherwise = { reply: 'some words of an answer', usage: { input: 20, output: 60 } }
  await using openai: Vendor = await startOpenAI({ otherwise })
  await using anthropic: Vendor = await startAnthropic({ otherwise })
  await using world = await gatewayWorld({ UK_LIMIT_INFERENCE: '0', UK_LIMIT_IN_FLIGHT: '0', UK_LIMIT_READS: '0' })
  await using twin = await world.server.twin()
  await world.bring(openai, 'oa', { models: [pricedModel('gpt-4o'), pricedModel('text-embedding-3-small')] })
  await world.bring(openai, 'rs', { shape: 'openai-responses', models: [pricedModel('gpt-4o')] })
  const claude = { shape: 'anthropic-messages', base_url: anthropic.origin, models: [pricedModel('claude-haiku-4-5')] }
  await world.bring(anthropic, 'an', claude)
  const key = await world.person.key({ spend_cap_usd: capUsd, spend_cap_period: 'total' })
  const cap = BigInt(Math.round(capUsd * 1e9))
  const servers: [TestServer, Caller][] = [
    [world.server, key],
    [twin, caller(twin.origin, key.headers)],
  ]
  const servedCounts: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]))
  let refusedCount = 0

  /** Makes one call and returns whether it was served. */
  async function spend(by: Caller, name: string): Promise<boolean> {
    const [path, body] = ways[name]!
    // A busy machine may lack database connections for this many clients: they retry, like real clients.
    const answer = await until(
      () => by.post(path, body),
      ({ status }) => status !== 503,
    )
    assert.ok(answer.status === 200 || answer.status === 402, `${name}: ${answer.status} ${answer.text}`)
    if (answer.status === 200) servedCounts[name]!++
    else refusedCount++
    return answer.status === 200
  }

  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: clients }, async (_, i) => {
      const [server, by] = servers[i % 2]!
      // The missing amount may only be reserved by others: there may be room again once those are settled.
      for (let turn = i, misses = 0; misses < 2; turn++)
        if (await spend(by, names[turn % names.length]!)) misses = 0
        else {
          misses++
          await server.app.engine.ledger.flush()
        }
    }),
  )
  const flush = () => Promise.all(servers.map(([server]) => server.app.engine.ledger.flush()))
  // A single client spends the rest until no route fits.
  for (let isAffordable = true; isAffordable;) {
    isAffordable = false
    for (const name of names) {
      await flush()
      if (await spend(key, name)) isAffordable = true
    }
  }
  const milliseconds = Math.round(performance.now() - startedAt)
  await flush()

  const { pool } = world.server.app.engine.postgres
  const { rows } = await pool.query<{ [name: string]: bigint }>(
    `select (select nano from spends where subject = $1 and period = 'total') as spent,
      (select held from spends where subject = $1 and period = 'total') as held,
      (select count(*) from reservations) as open,
      (select count(*) from calls where key_id = $1 and status = 'succeeded') as calls,
      (select sum(cost_nano)::int8 from calls where key_id = $1) as cost,
      (select max(l.nano) from ledger l join calls c on c.id = l.call_id where l.kind = 'reserve') as largest,
      (select count(*) from ledger where kind = 'overrun') as overruns`,
    [key.keyId],
  )
  const books = rows[0]!
  const calls = Object.values(servedCounts).reduce((sum, count) => sum + count, 0)
  const requestCount = [...openai.requests, ...anthropic.requests].filter(({ method }) => method === 'POST').length
  assert.deepEqual(
    {
      calls: books['calls'],
      arrived: requestCount,
      held: books['held'],
      open: books['open'],
      overruns: books['overruns'],
    },
    { calls: BigInt(calls), arrived: calls, held: 0n, open: 0n, overruns: 0n },
  )
  assert.equal(books['spent'], books['cost'])
  assert.ok(books['spent']! <= cap, `${books['spent']} crossed ${cap}`)
  assert.ok(books['largest']! * 50n <= cap, `a call held ${books['largest']}, more than a fiftieth of ${cap}`)
  for (const name of names) assert.ok(servedCounts[name]! > 0, `${name} was never served`)
  return { cap, spent: books['spent']!, calls, refused: refusedCount, served: servedCounts, milliseconds }
}

export const shareUsed = ({ spent, cap }: RaceResult): number => Number((spent * 10_000n) / cap) / 10_000
