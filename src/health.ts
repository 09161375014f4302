import type { ServerResponse } from 'node:http'
import type { Metrics } from '#infra/metrics/metrics.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { Mount } from '#core/http/exchange.ts'

const say = (response: ServerResponse, status: number, body: object): void =>
  void response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    .end(JSON.stringify(body))

/**
 * `/healthz`: the process is up. `/readyz`: it can serve. `/metrics`: Prometheus. Unauthenticated, so they reveal no
 * names.
 */
export function healthMounts({
  metrics,
  postgres,
  draining,
}: {
  metrics: Metrics
  postgres: Postgres
  draining: () => boolean
}): Mount[] {
  const only = (prefix: string, handle: Mount['handle']): Mount => ({
    prefix,
    handle(request, response, requestId) {
      const path = request.url!.split('?')[0]
      if (path !== prefix)
        return say(response, 404, { error: { type: 'not_found', message: 'This path doesn’t exist.' } })
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('allow', 'GET, HEAD')
        return say(response, 405, {
          error: { type: 'method_not_allowed', message: 'This path supports GET and HEAD.' },
        })
      }
      return handle(request, response, requestId)
    },
  })
  return [
    only('/healthz', (_, response) => say(response, 200, { status: 'ok' })),
    only('/readyz', async (_, response) => {
      if (draining()) return say(response, 503, { status: 'shutting_down' })
      try {
        await postgres.pool.query('select 1')
        say(response, 200, { status: 'ready' })
      } catch {
        say(response, 503, { status: 'database_unreachable' })
      }
    }),
    only('/metrics', async (_, response) => {
      response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(await metrics.registry.metrics())
    }),
  ]
}
