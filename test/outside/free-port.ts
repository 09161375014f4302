import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give to who connects outwards (32768 on Linux, 49152 elsewhere). */
const FIRST = 20_000
const COUNT = 10_000

/**
 * A port of 127.0.0.1 at which nobody listens, for a program that must be told its port: no connection of the tests beside
 * takes it before the program listens, as may happen with one that the system picked.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    const server = createServer()
    const listens = once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.listen(port, '127.0.0.1')
    if (!(await listens)) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
