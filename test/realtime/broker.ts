import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { freePort } from '../outside/free-port.ts'

const programs = {
  nats: {
    path: ['/usr/sbin/nats-server', '/usr/local/bin/nats-server'],
    args: (port: number) => ['-a', '127.0.0.1', '-p', String(port)],
  },
  redis: {
    path: ['/usr/bin/redis-server', '/usr/local/bin/redis-server'],
    args: (port: number) => ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no'],
  },
} as const
export type BrokerKind = keyof typeof programs

const programOf = (kind: BrokerKind): string | undefined => programs[kind].path.find((path) => existsSync(path))
export const hasBroker = (kind: BrokerKind): boolean => programOf(kind) !== undefined

/** A NATS or Redis of the test's own, which can be away for a while. */
export interface Broker extends AsyncDisposable {
  url: string
  start(): Promise<void>
  stop(): Promise<void>
}

export async function broker(kind: BrokerKind): Promise<Broker> {
  const port = await freePort()
  let child: ChildProcess | null = null
  const self: Broker = {
    url: `${kind}://127.0.0.1:${port}`,
    async start() {
      child = spawn(programOf(kind)!, programs[kind].args(port), { stdio: 'ignore' })
      while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 20))
    },
    async stop() {
      const ending = child
      child = null
      if (ending === null) return
      const ended = new Promise((resolve) => ending.once('exit', resolve))
      ending.kill('SIGKILL')
      await ended
    },
    [Symbol.asyncDispose]: () => self.stop(),
  }
  await self.start()
  return self
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
