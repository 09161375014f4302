import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeOf } from '#gateway/media/answers.ts'
import { AnswerRoom } from '#infra/media/answer-room.ts'

const MIB = 1 << 20
const never = new AbortController().signal
async function* answer(mib: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < mib; i++) yield new Uint8Array(MIB)
}

test('buffered responses together stay within the memory limit, and all complete', async () => {
  const room = new AnswerRoom(24 * MIB)
  let most = 0
  let done = 0
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      using place = room.place(never)
      const whole = await wholeOf({ body: answer(9), place })
      most = Math.max(most, room.heldBytes)
      assert.equal(whole.length, 9 * MIB)
      await new Promise((resolve) => setImmediate(resolve))
      done++
    }),
  )
  assert.equal(done, 20)
  // The one that began first is never kept waiting: it may go over by what it has itself.
  assert.ok(most <= (24 + 9) * MIB, `${most / MIB} MiB`)
  assert.ok(most > 8 * MIB, 'not one after the other')
  assert.equal(room.heldBytes, 0)
})

test('a response larger than the limit is delivered alone', async () => {
  const room = new AnswerRoom(MIB)
  using place = room.place(never)
  assert.equal((await wholeOf({ body: answer(5), place })).length, 5 * MIB)
})

test('a caller that disconnects while waiting stops waiting and holds no memory', async () => {
  const room = new AnswerRoom(4 * MIB)
  using first = room.place(never)
  await first.take(4 * MIB)
  const leaving = new AbortController()
  const second = room.place(leaving.signal)
  const waiting = second.take(MIB)
  leaving.abort(new Error('the client left'))
  await assert.rejects(waiting, /the client left/)
  second[Symbol.dispose]()
  assert.equal(room.heldBytes, 4 * MIB)
})

test('reads after their call has ended get no memory and delay no other call', async () => {
  const room = new AnswerRoom(4 * MIB)
  const left = room.place(never)
  const waiting = (async () => {
    using first = room.place(never)
    await first.take(4 * MIB)
    const behind = left.take(MIB)
    left[Symbol.dispose]()
    return behind
  })()
  await assert.rejects(waiting, /is over/)
  // One of several files that are read at once failed: the call has ended, and the others are still coming.
  await assert.rejects(wholeOf({ body: answer(9), place: left }), /is over/)
  assert.equal(room.heldBytes, 0)
})
