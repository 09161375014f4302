import type { ServerResponse } from 'node:http'

export interface Life extends Disposable {
  signal: AbortSignal
  end(why: unknown): void
}

/** Fires when the caller leaves, `end` is called, or `over` fires, with the reason if there is one. */
export function lifeOf(response: ServerResponse, over: AbortSignal): Life {
  const controller = new AbortController()
  const leave = () => controller.abort()
  const end = () => controller.abort(over.reason)
  response.on('close', leave)
  over.addEventListener('abort', end)
  return {
    signal: controller.signal,
    end: (why) => controller.abort(why),
    [Symbol.dispose]() {
      // Nothing is left to stop, and an abort costs an exception with a stack trace.
      response.off('close', leave)
      over.removeEventListener('abort', end)
    },
  }
}
