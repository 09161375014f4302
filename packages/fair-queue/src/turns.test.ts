import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from './turns.ts'

const limits = { atOnce: 3, each: 2, waitingEach: 4, waiting: 7 }

test('accounts take turns with up to two calls each in progress', async () => {
  using turns = createTurns(limits)
  const order: string[] = []
  const holds: Disposable[] = []
  const ask = (who: string): Promise<void> =>
    turns.take(who).then((turn) => {
      order.push(who)
      holds.push(turn)
    })
  const requests = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c'].map(ask)
  await requests[5]
  assert.deepEqual(order, ['a', 'a', 'b'], 'the third place is not hers')
  for (let i = 0; i < 5; i++) {
    holds[i]![Symbol.dispose]()
    holds[i]![Symbol.dispose]()
    await new Promise((go) => setImmediate(go))
  }
  await Promise.all(requests)
  assert.deepEqual(order, ['a', 'a', 'b', 'a', 'b', 'c', 'a', 'a'])
})

test('when the queue is full, the account with the most calls loses one to an account with fewer', async () => {
  using turns = createTurns({ ...limits, atOnce: 1, waiting: 6 })
  const hold = await turns.take('a')
  const outcomes: Promise<string>[] = ['a', 'a', 'a', 'a', 'b', 'b', 'c', 'd', 'e', 'f', 'g'].map((who) =>
    turns.take(who).then(
      (turn) => {
        turn[Symbol.dispose]()
        return 'served'
      },
      (error: Error) => error.name,
    ),
  )
  hold[Symbol.dispose]()
  assert.deepEqual(
    await Promise.all(outcomes),
    ['served', 'Busy', 'Busy', 'Busy', 'served', 'Busy', 'served', 'served', 'served', 'served', 'Busy'],
    'each of six accounts has one, and for a seventh nobody has two',
  )
})

test('queues are bounded per account and in total, and leaving callers free their place', async () => {
  const turns = createTurns({ ...limits, atOnce: 1 })
  const first = await turns.take('a')
  const leaving = new AbortController()
  const abandonedTurn = turns.take('a', leaving.signal)
  const remaining = ['a', 'a', 'a', 'b', 'b', 'b'].map((who) => turns.take(who))
  await assert.rejects(turns.take('a'), { name: 'Busy' })
  await assert.rejects(turns.take('b'), { name: 'Busy' }, 'seven wait')
  leaving.abort(new Error('left'))
  await assert.rejects(abandonedTurn, { message: 'left' })
  const room = turns.take('c')
  turns[Symbol.dispose]()
  for (const one of [...remaining, room]) await assert.rejects(one, { name: 'Busy' })
  first[Symbol.dispose]()
  await assert.rejects(turns.take('d'), { name: 'Busy' })
})
