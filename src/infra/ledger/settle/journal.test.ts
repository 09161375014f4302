import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { newId } from '#core/ids.ts'
import { call, outcome, payer } from '#test/infra/ledger-calls.ts'
import { createLog } from '../../log.ts'
import { settleItem, sharedBy } from './item.ts'
import { createJournal, journalsIn } from './journal.ts'

test('a large journal is replaced by a new one with the open calls', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ukiyo-journal-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const mine = newId()
  const journal = createJournal(dir, mine, createLog('silent'))
  const by = payer({ tier: 'unlimited' })
  const begin = () => {
    const one = call(by)
    journal.recordStart(one, sharedBy(one))
    return one
  }
  const readLeftovers = () => journalsIn(dir, newId()).flatMap(({ batches }) => batches())
  const long = begin()
  assert.equal(journal.rotate(), null)
  for (let i = 0; i < 3_000; i++) journal.recordEnd(settleItem(begin(), outcome(1n)))
  const away = journal.rotate()!
  assert.equal(readdirSync(dir).length, 2)
  assert.equal(
    readLeftovers().reduce((sum, { count }) => sum + count, 0),
    3_001,
    'the call that both files know is one',
  )
  const end = settleItem(long, outcome(1n))
  journal.recordEnd(end)
  const still = begin()
  assert.equal(journal.rotate(), null)
  assert.ok(
    readLeftovers().some(({ lines }) => lines.toString().includes(end.line)),
    'it ended as the later file tells',
  )
  away()
  assert.deepEqual(
    readLeftovers().map(({ count, lines }) => [
      count,
      lines
        .toString()
        .split('\n')
        .map((line) => line.split('\t')[1]),
    ]),
    [[2, [long.id, still.id]]],
  )
  assert.deepEqual(journalsIn(dir, mine), [])
  journal.close(true)
  assert.equal(readdirSync(dir).length, 1, 'a call is under way')
})

test('after a full disk, writing resumes with the open calls', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ukiyo-journal-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const mine = newId()
  const full = (number: number) => symlinkSync('/dev/full', join(dir, `${mine}-${number}.calls`))
  full(1)
  full(2)
  const journal = createJournal(dir, mine, createLog('silent'))
  const by = payer({ tier: 'unlimited' })
  const begin = () => {
    const one = call(by)
    journal.recordStart(one, sharedBy(one))
    return one
  }
  const first = begin()
  assert.equal(journal.rotate(), null, 'neither file can be written')
  const second = begin()
  const away = journal.rotate()!
  away()
  const ids = journalsIn(dir, newId()).flatMap(({ batches }) =>
    batches().flatMap(({ lines }) =>
      lines
        .toString()
        .split('\n')
        .map((line) => line.split('\t')[1]),
    ),
  )
  assert.deepEqual(ids, [first.id, second.id])
  journal.recordEnd(settleItem(first, outcome(1n)))
  journal.recordEnd(settleItem(second, outcome(1n)))
  journal.close(true)
  assert.deepEqual(readdirSync(dir), [])
})
