import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { BodyMemory } from './body-memory.ts'
import { readAgain, readInto } from './read-into.ts'

test('returned memory is reused by one request at a time, up to the pool’s limit', () => {
  const lengths = fc.array(fc.record({ length: fc.nat(300_000), back: fc.boolean() }), { maxLength: 60 })
  fc.assert(
    fc.property(lengths, (takes) => {
      const memory = new BodyMemory(1 << 20)
      const buffers = new Set<Buffer>()
      for (const { length, back } of takes) {
        const piece = memory.take(length)
        assert.ok(piece.length >= length && piece.length < Math.max(1025, 2 * length), `${piece.length} for ${length}`)
        assert.ok(!buffers.has(piece), 'somebody has it')
        buffers.add(piece)
        if (back)
          for (const one of buffers) {
            memory.giveBack(one)
            buffers.delete(one)
          }
        assert.ok(memory.freeBytes <= 1 << 20, `${memory.freeBytes} bytes are free`)
      }
    }),
  )
  const memory = new BodyMemory(1 << 20)
  const piece = memory.take(5_000)
  memory.giveBack(piece)
  assert.equal(memory.take(8_000), piece)
})

test('an accepted connection is read into our memory until `data` events are restored', async () => {
  const room = Buffer.alloc(8)
  const chunks: string[] = []
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay()
  const [socket] = (await once(server, 'connection')) as [Socket]
  const some = async (): Promise<string> => {
    while (chunks.length === 0) await new Promise((resolve) => setImmediate(resolve))
    return chunks.splice(0).join('')
  }
  const ours = readInto(socket, room, (size) => chunks.push(room.toString('latin1', 0, size)) > 0)
  assert.ok(ours, 'this version of Node reads accepted connections in another way')
  client.write('one')
  assert.equal(await some(), 'one')
  readAgain(socket)
  socket.pause()
  client.write('two')
  await new Promise((resolve) => setTimeout(resolve, 20))
  socket.on('data', (bytes: Buffer) => chunks.push(bytes.toString()))
  assert.deepEqual(chunks, [])
  socket.resume()
  assert.equal(await some(), 'two')
  const events = once(socket, 'end')
  client.end('three')
  await events
  assert.equal(chunks.join(''), 'three')
  socket.destroy()
  server.close()
})
