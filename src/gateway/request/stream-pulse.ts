import type { GatewayRequest } from './request.ts'

interface PulseOptions {
  /** Headers of a head that is sent before its provider is known: name, value, … */
  head?: readonly string[]
  isCut?: () => boolean
}

/** Keeps an idle event stream open by the surface's comments or pings. The first one sends the head. */
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
