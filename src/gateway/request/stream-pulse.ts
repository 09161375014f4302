import type { GatewayRequest } from './request.ts'

interface PulseOptions {
  /** Headers of a head that leaves before its provider is known: name, value, … */
  head?: readonly string[]
  /** Whether what was written so far ends inside an event, so nothing may follow it. */
  isCut?: () => boolean
}

/**
 * Keeps a stream of events from being closed as idle while its provider works, by the surface's comments or pings. The first of
 * them sends the head.
 */
export class StreamPulse implements Disposable {
  readonly #timer: NodeJS.Timeout

  constructor(request: GatewayRequest, { head: more = [], isCut = () => false }: PulseOptions = {}) {
    const { surface, gateway, response, head } = request
    const { text, everyMs } = surface.keepAlive
    this.#timer = setInterval(() => {
      if (request.closed || response.writableEnded) return this[Symbol.dispose]()
      if (!response.headersSent) {
        head.push('content-type', 'text/event-stream; charset=utf-8', ...more)
        head.push('cache-control', 'no-cache', 'x-accel-buffering', 'no')
        response.writeHead(200, head)
      }
      if (!response.writableNeedDrain && !isCut()) response.write(text)
    }, gateway.keepAliveMs ?? everyMs)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
