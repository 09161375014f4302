import { once } from 'node:events'
import { type Socket, connect, createServer } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Mux, overSocket } from '#daemon-protocol/link.ts'
import type { Answerer } from './pair.ts'

/** A link over a real socket: `asks` opens streams that `answer` serves. `cut` breaks it. */
export async function socketLink(answer: Answerer): Promise<{ asks: Mux; cut(): void } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'uk-link-'))
  const listener = createServer().listen(join(folder, 'socket'))
  await once(listener, 'listening')
  const caller = connect(join(folder, 'socket'))
  const [[served]] = (await Promise.all([once(listener, 'connection'), once(caller, 'connect')])) as [[Socket], unknown]
  const end = (socket: Socket, opens: 'even' | 'odd'): Mux => overSocket(socket, { opens, onHello() {}, answer })
  const daemon = end(served, 'odd')
  const asks = end(caller, 'even')
  asks.hello({})
  daemon.hello({})
  return {
    asks,
    cut: () => void caller.destroy(),
    async [Symbol.asyncDispose]() {
      caller.destroy()
      served.destroy()
      listener.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
