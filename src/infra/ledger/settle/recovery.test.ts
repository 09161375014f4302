import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { testDatabase } from '#test/database.ts'
import { call, outcome, payer } from '#test/infra/ledger-calls.ts'
import { createLog } from '../../log.ts'
import { connectPostgres } from '../../postgres/client.ts'
import { startProcess } from '../../processes/processes.ts'
import { createLedger } from '../create-ledger.ts'
import { until } from '#test/until.ts'
import type { Ledger, Payer } from '../ledger.ts'
import { totalOf } from '../calls/usage-days.ts'

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

test('calls of a killed process are settled if they were sent and released otherwise', async (t) => {
  const { ledger: start, database, postgres, balance, lines, held, record, open } = await instance(t)
  const by = payer({ key: { id: newId(), cap: { nano: 5_000n, period: 'total' } } })
  await (await start()).grant(postgres.db, by.accountId, 10_000n, '', null)
  const words = JSON.stringify({ ...by, key: { ...by.key, cap: { ...by.key!.cap, nano: String(by.key!.cap!.nano) } } })
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../../../test/infra/ledger-child.ts'), JSON.stringify(database.connection), words],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const [sentId, unsent] = JSON.parse(line.toString()) as string[]
  assert.equal(await balance(by), 7_000n)

  // No other process touches a live process's reservations.
  await start()
  assert.equal(await open(), 3n)
  child.kill('SIGKILL')
  await once(child, 'exit')

  await using late = await start()
  void late
  await until(open, (count) => count === 0n)
  assert.equal(await balance(by), 9_700n)
  assert.equal(await lines(by), 9_700n)
  assert.equal(await held(by.key!.id), 0n)
  const { cost_nano, cost_source, status } = await record(sentId!)
  assert.deepEqual({ cost_nano, cost_source, status }, { cost_nano: 300n, cost_source: 'estimated', status: 'failed' })
  assert.equal(await record(unsent!), undefined)
})

test('unreserved calls of a killed process are recorded as ended or interrupted', async (t) => {
  const { ledger: start, database, postgres, record } = await instance(t)
  const dir = join(database.dataDir, 'calls')
  const by = payer({ tier: 'unlimited', key: { id: newId(), cap: null } })
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, '../../../../test/infra/journal-child.ts'),
      JSON.stringify(database.connection),
      JSON.stringify(by),
      dir,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const [endedId, open, unsent] = JSON.parse(line.toString()) as [string, string, string]
  assert.equal(await record(endedId), undefined)

  t.after(() => child.kill('SIGKILL'))

  /** A process that starts, has read the others' journals when it stops, and leaves none. */
  const lookAround = async (): Promise<void> => {
    await using process = await startProcess({ postgres, log })
    await using _ledger = createLedger({ postgres, processId: process.id, log, journalDir: dir })
  }
  // No other process reads a live process's journal, even if its lease has expired.
  for (const clockOffset of ['30 seconds', '-5 seconds']) {
    const { rowCount } = await postgres.pool.query(
      'update processes set expires_at = now() + $2::interval where pid = $1',
      [child.pid, clockOffset],
    )
    assert.equal(rowCount, 1)
    await lookAround()
    assert.equal(await record(endedId), undefined)
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(await record(endedId), undefined)
  assert.equal(readdirSync(dir).length, 1)

  const late = await start(dir)
  await until(
    () => record(open),
    (row) => row !== undefined,
  )
  const readRecord = async (id: string) => {
    const { status, cost_nano, cost_source, finish_reason } = await record(id)
    return { status, cost_nano, cost_source, finish_reason }
  }
  assert.deepEqual(await readRecord(endedId), {
    status: 'succeeded',
    cost_nano: 300n,
    cost_source: 'computed',
    finish_reason: 'a word of theirs',
  })
  assert.deepEqual(await readRecord(open), {
    status: 'failed',
    cost_nano: 0n,
    cost_source: 'estimated',
    finish_reason: 'interrupted',
  })
  assert.equal(await record(unsent), undefined)
  assert.deepEqual(await late.readSpends([{ id: by.key!.id, period: 'total' }]), new Map([[by.key!.id, 300n]]))
  assert.equal((await totalOf(postgres.db, { accountId: by.accountId })).calls, 2)
  await until(
    async () => readdirSync(dir),
    ({ length }) => length <= 1,
  )
})

test('an unstorable call is refused only to its caller, and an absurd cost is recorded up to the limit', async (t) => {
  const { ledger: start, postgres, open, held, record } = await instance(t)
  const ledger = await start()
  const [rich, poor] = [payer(), payer()]
  for (const { accountId } of [rich, poor]) await ledger.grant(postgres.db, accountId, 1_000n, 'a start', null)
  const absurd = 10n ** 30n
  const [refused, granted] = await Promise.allSettled([
    ledger.reserve(call(poor), absurd),
    ledger.reserve(call(rich), 800n),
  ])
  assert.ok(refused.status === 'rejected' && refusedWith('insufficient_credits')(refused.reason))
  assert.equal(granted.status, 'fulfilled')
  const cappedPayer = payer({ tier: 'unlimited', key: { id: newId(), cap: { nano: 1_000n, period: 'total' } } })
  const byokCall = call(cappedPayer, { billing: 'byok' })
  await ledger.reserve(byokCall, 500n)
  ledger.settle(byokCall, outcome(absurd))
  await ledger.flush()
  assert.equal((await record(byokCall.id)).cost_nano, 500n)
  assert.equal(await held(cappedPayer.key!.id), 0n)
  assert.equal(await open(), 1n)
})

test('one unstorable record doesn’t block the settlement of others', async (t) => {
  const { ledger: start, record } = await instance(t)
  const ledger = await start()
  const by = payer({ tier: 'unlimited' })
  const bad = call(by, { surface: 'nul\0' })
  const good = [call(by), call(by, { model: 'nul\0' }), call(by)]
  for (const each of [good[0]!, bad, good[1]!, good[2]!]) ledger.settle(each, outcome(1n))
  await ledger.flush()
  for (const each of good) assert.equal((await record(each.id)).cost_nano, 1n)
  assert.equal(await record(bad.id), undefined)
})
