import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as fc from 'fast-check'
import { Refusal } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { testDatabase } from '#test/database.ts'
import { call, outcome, payer } from '#test/infra/ledger-calls.ts'
import { createLog } from '../log.ts'
import { connectPostgres } from '../postgres/client.ts'
import { startProcess } from '../processes/processes.ts'
import { createLedger } from './create-ledger.ts'
import type { Budget } from '#core/money.ts'
import { wayToDatabase } from '#test/outside/way.ts'
import { until } from '#test/until.ts'
import type { Ledger, Payer } from './ledger.ts'
import { totalOf } from './calls/usage-days.ts'

const log = createLog('silent')

async function instance(t: TestContext) {
  const stack = new AsyncDisposableStack()
  t.after(() => stack.disposeAsync())
  const database = stack.use(await testDatabase())
  const postgres = stack.use(connectPostgres(database.connection, () => {}))
  const ledger = async (journalDir?: string, log = createLog('silent')): Promise<Ledger> => {
    const process = stack.use(await startProcess({ postgres, log }))
    return stack.use(
      createLedger({ postgres, processId: process.id, log, ...(journalDir !== undefined && { journalDir }) }),
    )
  }
  const number = async (text: string, ...values: unknown[]): Promise<bigint> =>
    BigInt((await postgres.pool.query<{ n: string }>(`select (${text})::text as n`, values)).rows[0]!.n)
  return {
    stack,
    database,
    postgres,
    ledger,
    balance: (by: Payer) => number('select nano from balances where account_id = $1', by.accountId),
    lines: (by: Payer) => number('select coalesce(sum(change), 0) from ledger where account_id = $1', by.accountId),
    held: (subject: string) => number('select coalesce(sum(held), 0) from spends where subject = $1', subject),
    open: () => number('select count(*) from reservations'),
    kinds: async (callId: string) =>
      (
        await postgres.pool.query<{ kind: string }>('select kind from ledger where call_id = $1 order by seq', [callId])
      ).rows.map(({ kind }) => kind),
    record: async (callId: string) =>
      (await postgres.pool.query('select * from calls where id = $1', [callId])).rows[0],
  }
}

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof Refusal && error.status === 402 && error.code === code

test('a reservation is returned when its call settles for less, and ledger lines sum up to the balance', async (t) => {
  const { ledger: start, postgres, balance, lines, kinds, record, open } = await instance(t)
  const ledger = await start()
  const by = payer({ chatId: newId() })
  assert.equal(await ledger.grant(postgres.db, by.accountId, 1_000n, 'a start', null), 1_000n)
  const one = call(by)
  await ledger.reserve(one, 800n)
  assert.equal(await balance(by), 200n)
  assert.equal(await ledger.affordable(by, 'credits'), 200n)
  ledger.settle(one, outcome(300n))
  ledger.settle(one, outcome(300n))
  await ledger.flush()
  ledger.settle(one, outcome(700n))
  await ledger.flush()
  assert.equal(await balance(by), 700n)
  assert.equal(await lines(by), 700n)
  assert.deepEqual(await kinds(one.id), ['reserve', 'settle'])
  const { cost_nano, charged_nano, chat_id, output_tokens } = await record(one.id)
  assert.deepEqual(
    { cost_nano, charged_nano, chat_id, output_tokens },
    { cost_nano: 300n, charged_nano: 300n, chat_id: by.chatId, output_tokens: 5n },
  )

  const unsent = call(by)
  await ledger.reserve(unsent, 700n)
  await assert.rejects(ledger.reserve(call(by), 1n), refusedWith('insufficient_credits'))
  ledger.release(unsent)
  await ledger.flush()
  assert.equal(await balance(by), 700n)
  assert.equal(await record(unsent.id), undefined)
  assert.equal(await open(), 0n)
})

test('a reservation returned during a refusal doesn’t cause that refusal', async (t) => {
  const { database, stack } = await instance(t)
  // Longer than settlements wait to be written.
  let late = 0
  const way = await wayToDatabase(database.connection, (request) => (request.includes('reserve_calls') ? late : 0))
  stack.defer(() => way[Symbol.dispose]())
  const postgres = stack.use(connectPostgres(way.connection, () => {}))
  const process = stack.use(await startProcess({ postgres, log }))
  const ledger = stack.use(createLedger({ postgres, processId: process.id, log }))
  const by = payer({ tier: 'unlimited', budgets: [{ kind: 'goal', subject: newId(), nano: 100n, period: 'total' }] })
  const one = call(by)
  await ledger.reserve(one, 100n)
  late = 1_000
  ledger.settle(one, outcome(0n))
  assert.equal(await ledger.reserve(call(by), 100n), 100n)
})

test('the first use of a budget doesn’t block calls waiting for a second budget', async (t) => {
  const { ledger: start, postgres, held } = await instance(t)
  const ledgers = [await start(), await start(), await start(), await start()] as const
  const [fresh, old] = [newId(), newId()]
  const under = (...subjects: Id[]): Payer =>
    payer({
      tier: 'unlimited',
      budgets: subjects.map((subject) => ({ kind: 'goal', subject, nano: 1_000n, period: 'total' })),
    })
  await ledgers[0].reserve(call(under(old)), 100n)
  const waiting = async (count: number): Promise<void> => {
    const text =
      'select 1 from pg_locks join pg_stat_activity using (pid) where datname = current_database() and not granted'
    await until(
      () => postgres.pool.query(text),
      ({ rowCount }) => rowCount === count,
    )
  }

  const holder = await postgres.pool.connect()
  await holder.query('begin')
  await holder.query('select 1 from spends where subject = $1 for update', [old])
  const one = ledgers[1].reserve(call(under(fresh, old)), 100n)
  await waiting(1)
  await ledgers[2].reserve(call(under(fresh)), 100n)
  const other = ledgers[3].reserve(call(under(fresh, old)), 100n)
  await waiting(2)
  await holder.query('commit')
  holder.release()
  assert.deepEqual(await Promise.all([one, other]), [100n, 100n])
  assert.deepEqual([await held(fresh), await held(old)], [300n, 300n])
})

test('two processes settling the same calls concurrently record each once', async (t) => {
  const { ledger: start, postgres, balance, lines, record, open } = await instance(t)
  const messages: string[] = []
  const recordingLog = Object.assign(createLog('silent'), {
    error: (_: object, words: string) => void messages.push(words),
  })
  const [one, other] = [await start(undefined, recordingLog), await start(undefined, recordingLog)]
  const by = payer({})
  await one.grant(postgres.db, by.accountId, 1_000_000n, '', null)
  for (let round = 0; round < 5; round++) {
    const calls = Array.from({ length: 60 }, () => call(by))
    await Promise.all(calls.map((each) => one.reserve(each, 100n)))
    for (const each of calls) one.settle(each, outcome(30n))
    for (const each of calls.toReversed()) other.settle(each, outcome(40n))
    await Promise.all([one.flush(), other.flush()])
    const charges = await Promise.all(calls.map(async ({ id }) => Number((await record(id)).charged_nano)))
    assert.ok(charges.every((nano) => nano === 30 || nano === 40))
    assert.equal(await open(), 0n)
    assert.equal(await lines(by), await balance(by))
  }
  assert.deepEqual(messages, [])
  const { calls, cost_usd } = await totalOf(postgres.db, { accountId: by.accountId })
  assert.equal(calls, 300)
  assert.equal(Math.round(cost_usd * 1e9), 1_000_000 - Number(await balance(by)))
})

test('a call that accepts less reserves what balance and cap have left, but never less than its minimum', async (t) => {
  const { ledger: start, postgres, balance, held, lines } = await instance(t)
  const ledger = await start()
  const by = payer({ key: { id: newId(), cap: { nano: 500n, period: 'day' } } })
  await ledger.grant(postgres.db, by.accountId, 600n, '', null)
  // Calls of one turn form one batch, in order.
  const [first, second, third] = await Promise.allSettled([
    ledger.reserve(call(by), 300n, 100n),
    ledger.reserve(call(by), 300n, 200n),
    ledger.reserve(call(by), 300n, 1n),
  ])
  assert.deepEqual(
    [first, second].map((one) => one.status === 'fulfilled' && one.value),
    [300n, 200n],
  )
  assert.ok(third.status === 'rejected' && refusedWith('spend_cap_reached')(third.reason))
  assert.equal(await held(by.key!.id), 500n)
  assert.equal(await balance(by), 100n)
  const uncappedPayer = { ...by, key: null }
  await assert.rejects(ledger.reserve(call(uncappedPayer), 400n, 101n), refusedWith('insufficient_credits'))
  const last = call(uncappedPayer)
  assert.equal(await ledger.reserve(last, 400n, 100n), 100n)
  assert.equal(await balance(by), 0n)
  ledger.settle(last, outcome(150n))
  await ledger.flush()
  assert.equal(await balance(by), 0n)
  assert.equal(await lines(by), 0n)
})

test('the instance bears a provider’s charge above the reservation', async (t) => {
  const { ledger: start, postgres, balance, lines, kinds, record } = await instance(t)
  const ledger = await start()
  const by = payer({ key: { id: newId(), cap: { nano: 500n, period: 'day' } } })
  await ledger.grant(postgres.db, by.accountId, 1_000n, '', null)
  const one = call(by)
  await ledger.reserve(one, 400n)
  ledger.settle(one, outcome(450n))
  assert.deepEqual(await ledger.readSpends([{ id: by.key!.id, period: 'day' }]), new Map([[by.key!.id, 400n]]))
  assert.equal(await balance(by), 600n)
  assert.equal(await lines(by), 600n)
  assert.deepEqual(await kinds(one.id), ['reserve', 'settle', 'overrun'])
  assert.equal((await record(one.id)).overrun_nano, 50n)
})

test('the unlimited tier and own provider keys are recorded and capped but not charged', async (t) => {
  const { ledger: start, record } = await instance(t)
  const ledger = await start()
  const key = { id: newId(), cap: { nano: 100n, period: 'month' as const } }
  const unlimitedPayer = payer({ tier: 'unlimited', key })
  const byok = payer({ key })
  assert.equal(ledger.isGuarded(payer({ tier: 'unlimited' }), 'credits'), false)
  assert.equal(ledger.isGuarded(payer(), 'byok'), false)
  const first = call(unlimitedPayer)
  const second = call(byok, { billing: 'byok' })
  await ledger.reserve(first, 60n)
  await ledger.reserve(second, 40n)
  await assert.rejects(ledger.reserve(call(byok, { billing: 'byok' }), 1n), refusedWith('spend_cap_reached'))
  await assert.rejects(ledger.reserve(call(byok, { billing: 'byok' }), null), refusedWith('unpriced_model'))
  ledger.settle(first, outcome(60n))
  ledger.settle(second, outcome(40n))
  assert.deepEqual(await ledger.readSpends([{ id: key.id, period: 'total' }]), new Map([[key.id, 100n]]))
  assert.equal((await record(first.id)).charged_nano, 0n)
  const free = call(payer({ tier: 'unlimited' }))
  await ledger.reserve(free, null)
  ledger.settle(free, outcome(null, { costSource: null }))
  await ledger.flush()
  assert.equal((await record(free.id)).cost_nano, null)
})

test('an exhausted budget has its own error code, and a new period resets it', async (t) => {
  const { ledger: start } = await instance(t)
  const ledger = await start()
  const goal = newId()
  const by = payer({ tier: 'unlimited', budgets: [{ kind: 'goal', subject: goal, nano: 100n, period: 'day' }] })
  const lastNight = new Date(Date.now() - 86_400_000)
  await ledger.reserve(call(by, { startedAt: lastNight }), 100n)
  await assert.rejects(ledger.reserve(call(by, { startedAt: lastNight }), 1n), refusedWith('budget_reached'))
  await ledger.reserve(call(by), 100n)
  await assert.rejects(
    ledger.reserve(call(by), 1n),
    (error: Refusal) =>
      error.details?.available_usd === 0 && error.details.subject === goal && /budget of the goal/.test(error.message),
  )
})

test('a workspace is counted before it has a budget, and a count-only chat is never refused', async (t) => {
  const { ledger: start } = await instance(t)
  const ledger = await start()
  const [workspaceId, chat] = [newId(), newId()]
  const countedPayer = payer({
    tier: 'unlimited',
    workspaceId,
    budgets: [{ kind: 'chat', subject: chat, nano: null, period: 'total' }],
  })
  assert.equal(ledger.isGuarded(countedPayer, 'credits'), false)
  ledger.settle(call(countedPayer), outcome(70n))
  const spends = await ledger.readSpends([
    { id: workspaceId, period: 'week' },
    { id: chat, period: 'total' },
  ])
  assert.deepEqual([spends.get(workspaceId), spends.get(chat)], [70n, 70n])
  const heldPayer = payer({
    tier: 'unlimited',
    workspaceId,
    budgets: [
      { kind: 'workspace', subject: workspaceId, nano: 100n, period: 'week' },
      { kind: 'chat', subject: chat, nano: 80n, period: 'total' },
    ],
  })
  assert.equal(await ledger.affordable(heldPayer, 'credits'), 10n)
  await assert.rejects(
    ledger.reserve(call(heldPayer), 31n),
    (error: Refusal) => error.details?.budget === 'workspace' && error.details.available_usd === 3e-8,
  )
  await assert.rejects(ledger.reserve(call(heldPayer), 11n), (error: Refusal) => error.details?.budget === 'chat')
  await ledger.reserve(call(heldPayer), 10n)
})

test('concurrent calls from several processes never exceed a cap, budget or balance', async (t) => {
  const { ledger: start, postgres, balance, lines, held } = await instance(t)
  const ledgers = [await start(), await start()]
  const amount = fc.integer({ min: 0, max: 20_000 })
  const property = fc.asyncProperty(
    fc.array(
      fc.record({
        worst: fc.integer({ min: 0, max: 400 }),
        least: fc.double({ min: 0, max: 1, noNaN: true }),
        used: fc.double({ min: 0, max: 1.2, noNaN: true }),
        end: fc.constantFrom('settle', 'release', 'leave'),
      }),
      { minLength: 100, maxLength: 400 },
    ),
    fc.tuple(amount, amount, amount, amount),
    async (callers, [cap, credits, ofWorkspace, ofGoal]) => {
      const key = { id: newId(), cap: { nano: BigInt(cap), period: 'total' as const } }
      const [workspaceId, goal] = [newId(), newId()]
      const budgets: Budget[] = [
        { kind: 'workspace', subject: workspaceId, nano: BigInt(ofWorkspace), period: 'month' },
        { kind: 'goal', subject: goal, nano: BigInt(ofGoal), period: 'total' },
        { kind: 'chat', subject: newId(), nano: null, period: 'total' },
      ]
      const by = payer({ key, workspaceId, budgets })
      await ledgers[0]!.grant(postgres.db, by.accountId, BigInt(credits), '', null)
      let holding = 0n
      let settledNano = 0n
      await Promise.all(
        callers.map(async ({ worst, least, used, end }, i) => {
          const ledger = ledgers[i % 2]!
          const mine = call(by)
          let amount: bigint
          try {
            amount = await ledger.reserve(mine, BigInt(worst), BigInt(Math.round(worst * least)))
          } catch (error) {
            assert.ok(error instanceof Refusal, String(error))
            return
          }
          if (end === 'leave') holding += amount
          else if (end === 'release') ledger.release(mine)
          else {
            const cost = BigInt(Math.round(worst * used))
            settledNano += cost < amount ? cost : amount
            ledger.settle(mine, outcome(cost))
          }
        }),
      )
      await Promise.all(ledgers.map((ledger) => ledger.flush()))
      const subjects = [
        { id: key.id, period: 'total' as const },
        ...budgets.map(({ subject: id, period }) => ({ id, period })),
      ]
      const sums = await ledgers[0]!.readSpends(subjects)
      for (const { id } of subjects) assert.equal(sums.get(id) ?? 0n, settledNano)
      const spentBefore = settledNano
      assert.equal(await held(key.id), holding)
      for (const most of [cap, ofWorkspace, ofGoal])
        assert.ok(spentBefore + holding <= BigInt(most), `${spentBefore} + ${holding} crossed the cap ${most}`)
      assert.equal(await balance(by), BigInt(credits) - settledNano - holding)
      assert.ok((await balance(by)) >= 0n)
      assert.equal(await lines(by), await balance(by))
    },
  )
  await fc.assert(property, { numRuns: 15, endOnFailure: true })
})
