import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { firstIdAt, newId } from '#core/ids.ts'
import { usageOf } from '#core/usage.ts'
import { testDatabase } from '#test/database.ts'
import { call, outcome, payer } from '#test/infra/ledger-calls.ts'
import { createLog } from '../../log.ts'
import { connectPostgres } from '../../postgres/client.ts'
import { createLedger } from '../create-ledger.ts'
import { callsPage, costsOf } from './calls.ts'
import { sumDays, totalOf } from './usage-days.ts'

test('calls are paged newest first, filtered, and summed per model, provider, key, day, chat and run', async (t) => {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase())
  const postgres = stack.use(connectPostgres(database.connection, () => {}))
  const ledger = stack.use(createLedger({ postgres, processId: newId(), log: createLog('silent') }))
  const { db } = postgres
  const key = { id: newId(), cap: null }
  const by = payer({ tier: 'unlimited', key, chatId: newId(), runId: newId(), messageId: newId() })
  const plain = payer({ tier: 'unlimited', accountId: by.accountId })
  let count = 0
  const on = (n: number) => {
    const startedAt = new Date(Date.UTC(2026, 10, n, 12, 0, 0, count++))
    return { startedAt, id: firstIdAt(startedAt.getTime()).slice(0, 10) + newId().slice(10) }
  }
  const media = { images: 1, audio_seconds: 2.5, video_seconds: 8.25, characters: 11 }
  ledger.settle(
    call(by, on(1)),
    outcome(1_500_000_000n, { usage: usageOf({ input_tokens: 10, output_tokens: 5, ...media }) }),
  )
  ledger.settle(call(by, { ...on(2), model: 'other/model', provider: 'other' }), outcome(500_000_000n))
  ledger.settle(call(plain, on(2)), outcome(null, { costSource: null }))
  ledger.settle(call(payer({ tier: 'unlimited' }), on(2)), outcome(7n))
  await ledger.flush()
  const whose = { accountId: by.accountId }

  await t.test('pages', async () => {
    const first = await callsPage(db, whose, {}, { limit: 2 })
    assert.deepEqual(
      first.rows.map(({ cost_usd }) => cost_usd),
      [null, 0.5],
    )
    const rest = await callsPage(db, whose, {}, { limit: 2, cursor: first.next! })
    assert.deepEqual(
      rest.rows.map(({ cost_usd, key_id }) => [cost_usd, key_id]),
      [[1.5, key.id]],
    )
    assert.equal(rest.next, null)
    const { images, audio_seconds, video_seconds, characters } = rest.rows[0]!.usage
    assert.deepEqual({ images, audio_seconds, video_seconds, characters }, media)
    assert.equal(first.rows[0]!.usage.characters, 0)
    await assert.rejects(
      callsPage(db, whose, { model: 'x' }, { limit: 2, cursor: first.next! }),
      (error) => error instanceof Refusal && error.code === 'invalid_cursor',
    )
    assert.equal(
      (await callsPage(db, whose, { keyId: key.id, from: '2026-11-02', to: '2026-11-02' }, { limit: 9 })).rows.length,
      1,
    )
  })

  await t.test('sums', async () => {
    const [models, providers, keys, days, both] = await sumDays(db, whose, {}, [
      ['model'],
      ['provider'],
      ['key'],
      ['day'],
      ['day', 'model'],
    ])
    const summarize = (rows: typeof models, name: 'model' | 'provider' | 'key' | 'day') =>
      rows!.map(({ of, sums: { calls, cost_usd } }) => [of[name], calls, cost_usd])
    assert.deepEqual(summarize(models, 'model'), [
      ['sim/echo', 2, 1.5],
      ['other/model', 1, 0.5],
    ])
    assert.deepEqual(summarize(providers, 'provider'), [
      ['sim', 2, 1.5],
      ['other', 1, 0.5],
    ])
    assert.deepEqual(summarize(keys, 'key'), [
      [key.id, 2, 2],
      [null, 1, 0],
    ])
    assert.deepEqual(summarize(days, 'day'), [
      ['2026-11-02', 2, 0.5],
      ['2026-11-01', 1, 1.5],
    ])
    assert.deepEqual(
      both!.map(({ of }) => `${of.day} ${of.model}`),
      ['2026-11-02 other/model', '2026-11-02 sim/echo', '2026-11-01 sim/echo'],
    )
    assert.equal((await totalOf(db, { workspaceIds: [by.workspaceId] })).usage.total_tokens, 30)
    assert.equal((await totalOf(db, whose, { model: 'nobody/has-it' })).cost_usd, 0)
    const { unpriced_calls, usage } = await totalOf(db, whose)
    assert.deepEqual([unpriced_calls, usage.video_seconds, usage.characters], [1, 8.25, 11])
  })

  await t.test('costs', async () => {
    for (const [of, id] of [
      ['chat_id', by.chatId!],
      ['run_id', by.runId!],
      ['message_id', by.messageId!],
    ] as const)
      assert.equal((await costsOf(db, of, [id, newId()])).get(id), 2_000_000_000n)
  })
})
