import assert from 'node:assert/strict'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Dispatcher } from 'undici'
import { addressPolicy } from '../address.ts'
import { type Outbound, createOutbound } from '../outbound.ts'

const SIZE = 6 << 20
const whole = Buffer.alloc(SIZE, 'x')
let server: Server
let origin: string
let outbound: Outbound

before(async () => {
  server = createServer((_, response) => response.end(whole))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  outbound = createOutbound(addressPolicy(['127.0.0.1/32']))
})
after(async () => {
  await outbound[Symbol.asyncDispose]()
  server.closeAllConnections()
  server.close()
})

function read(
  party: string,
  data: (controller: Dispatcher.DispatchController, bytes: Buffer) => void,
): Promise<number> {
  let size = 0
  return new Promise((resolve, reject) =>
    outbound.dispatch(
      { origin, path: '/', method: 'GET', headers: [], body: null, credential: '', party },
      {
        onRequestStart() {},
        onResponseData(controller, bytes) {
          size += bytes.length
          data(controller, bytes)
        },
        onResponseEnd: () => resolve(size),
        onResponseError: (_, error) => reject(error),
      },
    ),
  )
}

test('fast responses deliver a bounded number of bytes per event-loop turn', async () => {
  const count = 12
  let bytes = 0
  const all = Promise.all(
    Array.from({ length: count }, (_, n) => read(n === 0 ? 'one' : 'many', (_, part) => (bytes += part.length))),
  )
  let most = 0
  for (let last = 0; last < count * SIZE; last = bytes) {
    await new Promise(setImmediate)
    // The first bytes of each aren't paced.
    if (last > count * (128 << 10)) most = Math.max(most, bytes - last)
  }
  assert.deepEqual(await all, Array<number>(count).fill(SIZE))
  assert.ok(most > 0 && most <= 512 << 10, `${most} bytes in one turn`)
})

test('a paused reader is never resumed by its turn, and no data is lost', async () => {
  let isPaused = false
  let early = 0
  const size = await read('anybody', (controller) => {
    if (isPaused) early++
    isPaused = true
    controller.pause()
    setImmediate(() =>
      setImmediate(() => {
        isPaused = false
        controller.resume()
      }),
    )
  })
  assert.deepEqual([size, early], [SIZE, 0])
})
