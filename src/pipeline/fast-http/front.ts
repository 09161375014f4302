import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Log } from '#infra/log.ts'
import type { FastMount, HostMount } from '#core/exchange.ts'
import { newId } from '#core/ids.ts'
import { FastConnections } from './connections.ts'

export function answerFast(
  server: Server,
  { mounts, hosts }: { mounts: readonly { fast?: FastMount }[]; hosts: Pick<HostMount, 'owns'> },
  keepAliveSeconds: number,
  log: Log,
): FastConnections {
  const [full] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  const byPath = new Map(mounts.flatMap(({ fast }) => fast?.paths.map((path) => [path, fast.handle] as const) ?? []))
  const connections = new FastConnections({
    paths: byPath,
    elsewhere: (host) => hosts.owns(host),
    keepAliveSeconds,
    handOver: (socket) => full!.call(server, socket),
    answer(request, reply) {
      const { url } = request
      const mark = url.indexOf('?')
      const requestId = newId()
      try {
        byPath.get(mark < 0 ? url : url.slice(0, mark))!(request, reply, requestId)
      } catch (error) {
        log.error({ error, request_id: requestId }, 'a request failed')
        reply.destroy()
      }
    },
  })
  server.removeAllListeners('connection').on('connection', (socket: Socket) => connections.take(socket))
  return connections
}
