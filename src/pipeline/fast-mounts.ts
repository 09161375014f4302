import type { Server } from 'node:http'
import type { Log } from '#infra/log.ts'
import type { FastMount, HostMount } from '#core/http/exchange.ts'
import { newId } from '#core/ids.ts'
import type { FastConnections } from '#packages/fast-http/connections.ts'
import { answerFast } from '#packages/fast-http/front.ts'

export function answerMountsFast(
  server: Server,
  { mounts, hosts }: { mounts: readonly { fast?: FastMount }[]; hosts: Pick<HostMount, 'owns'> },
  keepAliveSeconds: number,
  log: Log,
): FastConnections {
  const byPath = new Map(mounts.flatMap(({ fast }) => fast?.paths.map((path) => [path, fast.handle] as const) ?? []))
  return answerFast(server, {
    paths: byPath,
    elsewhere: (host) => hosts.owns(host),
    keepAliveSeconds,
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
}
