import type { Worker } from 'node:cluster'

/** A connection as Node's own layer holds it. */
interface Handle {
  close(): void
}
/**
 * A message between the primary and its workers, of `node:cluster`'s own (lib/internal/cluster/round_robin_handle.js).
 */
interface Internal {
  cmd?: string
  act?: string
  seq?: number
  ack?: number
}

/**
 * Connections on their way to a worker end with it. The primary hands each to a worker and keeps it until that says that it has
 * it; Node does not close one whose worker was killed in between, so that its client would wait for ever.
 */
export function closeHandedOver({ process: child }: Worker): void {
  const onTheirWay = new Map<number, Handle>()
  const send = child.send.bind(child) as (message: unknown, handle?: unknown, ...more: unknown[]) => boolean
  // Node's types know neither the messages of `node:cluster` nor handles that are no sockets yet.
  child.send = ((message: Internal, handle?: Handle, ...more: unknown[]): boolean => {
    if (message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && message.seq !== undefined && handle)
      onTheirWay.set(message.seq, handle)
    return send(message, handle, ...more)
  }) as typeof child.send
  child.on('internalMessage', ({ ack }: Internal) => {
    if (ack !== undefined) onTheirWay.delete(ack)
  })
  child.once('exit', () => {
    for (const handle of onTheirWay.values()) handle.close()
    onTheirWay.clear()
  })
}
