import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CodedError, HeldPipe, errors, heldLink } from '../test/pair.ts'
import { Mux } from './mux.ts'
import { relay } from './relay.ts'
import { type Incoming, LinkLost, type Stream, StreamReset } from './stream.ts'

const probe = { op: 'probe', input: {} } as const
const turn = () => new Promise(setImmediate)

/** Bytes whose value tells their place. */
const pattern = (length: number, seed: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) * 7 + seed) & 255))

async function writeAll(stream: Stream, bytes: Buffer, sizes: readonly number[]): Promise<void> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!
    await stream.write(bytes.subarray(at, at + size))
    if (i % 3 === 0) stream.event({ at: Math.min(at + size, bytes.length) })
    at += size
  }
  stream.finish()
}

/** Reads to the end of bytes, as slowly as told; an event must come where it was sent. */
async function readAll(stream: Stream, pauses: readonly number[]): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  let i = 0
  for await (const item of stream) {
    if (item.type === 'finished') break
    if (item.type === 'event') assert.equal((item.event as { at: number }).at, size)
    else {
      assert.equal(item.offset, size)
      size += item.bytes.length
      parts.push(Uint8Array.from(item.bytes))
    }
    for (let n = pauses[i++ % pauses.length]!; n > 0; n--) await turn()
  }
  return Buffer.concat(parts)
}

test('bytes arrive complete and in order, both ways, on several streams, with any reader and pipe', async () => {
  const one = fc.record({
    up: fc.nat(300_000),
    down: fc.nat(300_000),
    sizes: fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 4 }),
    pauses: fc.array(fc.nat(3), { minLength: 1, maxLength: 4 }),
  })
  const way = fc.infiniteStream(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 5 })))
  await fc.assert(
    fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 4 }), way, async (plans, ways) => {
      const link = heldLink({
        async daemon({ input }, stream) {
          const { i } = input as { i: number }
          const { up, down, sizes, pauses } = plans[i]!
          const [came] = await Promise.all([
            readAll(stream, pauses),
            writeAll(stream, pattern(down, i + 100), sizes.toReversed()),
          ])
          assert.ok(came.equals(pattern(up, i)))
          return { took: came.length }
        },
      })
      const calls = plans.map(async ({ up, down, sizes, pauses }, i) => {
        const stream = link.server.open({ op: 'probe', input: { i } })
        const [came] = await Promise.all([readAll(stream, pauses), writeAll(stream, pattern(up, i), sizes)])
        assert.ok(came.equals(pattern(down, i + 100)))
        assert.deepEqual(await stream.output, { took: up })
      })
      let over = false
      const all = Promise.all(calls).finally(() => (over = true))
      for (const [down, times] of ways) {
        for (let n = 0; n < times; n++) if (!link.step(down ? 'toDaemon' : 'toServer')) break
        await turn()
        if (over) break
      }
      await all
      await link.settle()
      assert.equal(link.server.streams + link.daemon.streams, 0)
      assert.equal(link.toDaemon.closed ?? link.toServer.closed, null)
    }),
    { numRuns: 40 },
  )
})

test('a reader that stops blocks only its own stream, and its writer has one pending write', async () => {
  const link = heldLink({
    async daemon({ input }, stream) {
      let written = 0
      if ((input as { endless?: boolean }).endless)
        while (written < 10_000_000) {
          await stream.write(Buffer.alloc(50_000))
          written += 50_000
        }
      return { written }
    },
  })
  const stuck = link.server.open({ op: 'probe', input: { endless: true } })
  await link.settle()
  const other = link.server.open(probe)
  await link.settle()
  assert.deepEqual(await other.output, { written: 0 })
  stuck.reset('enough')
  await assert.rejects(stuck.output, StreamReset)
  await link.settle()
  assert.equal(link.daemon.streams, 0)
})

test('small messages are sent before bulk data, which waits while the pipe is full', async () => {
  const link = heldLink({
    async daemon(_asked, stream) {
      for await (const item of stream) if (item.type === 'finished') break
      return {}
    },
  })
  const bulk = link.server.open(probe)
  const writing = bulk.write(Buffer.alloc(5_000_000))
  for (let i = 0; i < 40; i++) {
    link.step('toDaemon')
    await turn()
    link.step('toServer')
  }
  assert.ok(link.toDaemon.bufferedAmount < 300_000, `${link.toDaemon.bufferedAmount} bytes wait`)
  const small = link.server.open(probe)
  await small.write(Buffer.from('key'))
  const behind = link.toDaemon.bufferedAmount
  assert.ok(behind < 300_000)
  small.finish()
  await link.settle()
  await writing
  bulk.finish()
  await link.settle()
  await Promise.all([small.output, bulk.output])
})

test('a refusal is sent unchanged, and other errors reveal nothing', async () => {
  const link = heldLink({
    async daemon({ input }) {
      if ((input as { fault?: boolean }).fault) throw new Error('a secret of the machine')
      throw new CodedError('storage_full', 'The disk is full.')
    },
  })
  const refused = link.server.open(probe)
  const failed = link.server.open({ op: 'probe', input: { fault: true } })
  await link.settle()
  await assert.rejects(refused.output, {
    code: 'storage_full',
    message: 'The disk is full.',
  })
  await assert.rejects(
    failed.output,
    (error: CodedError) => error.code === 'internal_error' && !/secret/.test(error.message),
  )
})

test('when the link is lost, pending calls on both ends fail', async () => {
  let reason: unknown
  const link = heldLink({
    async daemon(_asked, stream, { signal }) {
      signal.addEventListener('abort', () => (reason = signal.reason))
      for await (const _ of stream);
      return {}
    },
  })
  const stream = link.server.open(probe)
  const writing = stream.write(Buffer.alloc(1_000_000))
  writing.catch(() => {})
  const reading = stream[Symbol.asyncIterator]().next()
  await link.settle()
  link.server.lost()
  link.daemon.lost()
  await assert.rejects(stream.output, LinkLost)
  await assert.rejects(Promise.resolve(reading), LinkLost)
  await assert.rejects(stream.write(Buffer.from('x')), LinkLost)
  await turn()
  assert.ok(reason instanceof LinkLost)
  assert.throws(() => link.server.open(probe), LinkLost)
})

test('joined streams behave as one, and report which of their links broke', async () => {
  const far = heldLink({
    async daemon({ input }, stream) {
      const { fail } = input as { fail?: boolean }
      if (fail) throw new CodedError('not_found')
      const came = await readAll(stream, [0])
      await stream.write(came, 1, 77)
      return { size: came.length }
    },
  })
  const near = heldLink({
    daemon: (asked, stream, { signal }) => relay(stream, far.server.open(asked), signal),
  })
  const both = async () => {
    for (let i = 0; i < 4; i++) await Promise.all([near.settle(), far.settle()])
  }
  const joined = near.server.open(probe)
  void writeAll(joined, pattern(200_000, 5), [9_000])
  const came: Incoming[] = []
  const reading = (async () => {
    for await (const item of joined) came.push({ ...item })
  })()
  await both()
  await reading
  assert.deepEqual(await joined.output, { size: 200_000 })
  assert.equal(came[0]!.type === 'bytes' && came[0]!.offset, 77)
  const size = came.reduce((sum, item) => sum + (item.type === 'bytes' ? item.bytes.length : 0), 0)
  assert.equal(size, 200_000)

  const refused = near.server.open({ op: 'probe', input: { fail: true } })
  await both()
  await assert.rejects(refused.output, { code: 'not_found' })

  const open = near.server.open(probe)
  await both()
  assert.equal(far.daemon.streams, 1)
  open.reset('left')
  await both()
  assert.equal(far.daemon.streams, 0)

  const broken = near.server.open(probe)
  await both()
  far.server.lost()
  await near.settle()
  await assert.rejects(broken.output, LinkLost)
})

test('a sender with too many unread events has its stream reset', async () => {
  let left = 0
  const link = heldLink({
    async daemon(_asked, stream, { signal }) {
      for (; left < 4_000 && !signal.aborted; left++) stream.event({ type: 'input', data: 'x'.repeat(60_000) })
      return {}
    },
  })
  const stream = link.server.open(probe)
  await link.settle()
  assert.ok(left < 40, `${left} events of 60 KB were taken`)
  await assert.rejects(stream.output, StreamReset)
})

test('a relayed stream takes only as many events as its reader reads, and loses none', async () => {
  let made = 0
  const far = heldLink({
    async daemon(_asked, stream) {
      for (; made < 40; made++) {
        stream.event({ made, data: 'x'.repeat(60_000) })
        await stream.taken()
      }
      return {}
    },
  })
  const near = heldLink({
    daemon: (asked, stream, { signal }) => relay(stream, far.server.open(asked), signal),
  })
  const joined = near.server.open(probe)
  const both = async () => {
    for (let i = 0; i < 4; i++) await Promise.all([near.settle(), far.settle()])
  }
  await both()
  assert.ok(made < 10, `${made} events were made`)
  const came: unknown[] = []
  const reading = (async () => {
    for await (const item of joined) if (item.type === 'event') came.push((item.event as { made: number }).made)
  })()
  while (came.length < 40) await both()
  await both()
  await reading
  assert.deepEqual(
    came,
    Array.from({ length: 40 }, (_, i) => i),
  )
})

test('pings measure the round trip, and any frame counts as a sign of life', () => {
  let time = 0
  const pipe = new HeldPipe()
  const mux = new Mux(pipe, { opens: 'even', errors, onHello() {}, answer: () => Promise.resolve({}), now: () => time })
  const other = heldLink()
  other.daemon.hello({})
  mux.receive(other.toServer.leave()!)
  mux.ping()
  other.daemon.receive(pipe.leave()!)
  time = 30
  const heard = mux.heard
  mux.receive(other.toServer.leave()!)
  assert.equal(mux.roundTrip(), 30)
  assert.equal(mux.heard, heard + 1)
})
