import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A loopback proxy that can be cut, slowed, or left half-open. */
export interface Proxy extends AsyncDisposable {
  origin: string
  /** Closes every connection, like a router that lost its state. */
  cut(): void
  /** Silently drops all traffic of current connections, or of new ones too. */
  stall(which: 'now' | 'all'): void
  /** Lets new connections through again. */
  open(): void
  /** Delays each direction. */
  delay(ms: number): void
  /** Redirects new connections. */
  to(origin: string): void
  connections(): number
  /** Bytes dropped by stalled connections. */
  swallowed(): number
}

export async function proxyTo(first: string): Promise<Proxy> {
  let target = first
  let stalled = false
  let delayMs = 0
  let swallowed = 0
  const pairs = new Set<{ near: Socket; far: Socket; stalled: boolean }>()
  const server = createServer((near) => {
    const { hostname, port } = new URL(target)
    const far = connect(Number(port), hostname)
    const pair = { near, far, stalled }
    pairs.add(pair)
    const over = (): void => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    near.setNoDelay(true).on('error', over).on('close', over)
    far.setNoDelay(true).on('error', over).on('close', over)
    const carry = (from: Socket, into: Socket): void => {
      // In order, as with TCP.
      let last = Promise.resolve()
      let onTheirWay = 0
      from.on('data', (bytes) => {
        if (pair.stalled) return void (swallowed += bytes.length)
        if (delayMs === 0 && onTheirWay === 0) return void into.write(bytes)
        onTheirWay++
        const late = sleep(delayMs)
        last = last.then(async () => {
          await late
          onTheirWay--
          if (!pair.stalled && !into.destroyed) into.write(bytes)
        })
      })
      from.on('end', () => void (pair.stalled || setTimeout(() => into.end(), delayMs)))
    }
    carry(near, far)
    carry(far, near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const closeAll = (): void => {
    for (const { near, far } of pairs) {
      near.destroy()
      far.destroy()
    }
  }
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: closeAll,
    stall(which) {
      for (const pair of pairs) pair.stalled = true
      stalled = which === 'all'
    },
    open: () => void (stalled = false),
    delay: (ms) => void (delayMs = ms),
    to: (origin) => void (target = origin),
    connections: () => pairs.size,
    swallowed: () => swallowed,
    async [Symbol.asyncDispose]() {
      closeAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
