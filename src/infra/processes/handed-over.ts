import type { Worker } from 'node:cluster'

interface Handle {
  close(): void
}
/** An internal `node:cluster` message (lib/internal/cluster/round_robin_handle.js). */
interface Internal {
  cmd?: string
  act?: string
  seq?: number
  ack?: number
}

/**
 * Closes connections in transit to a dead worker. The primary keeps each until the worker confirms it; if the worker is
 * killed in between, Node never closes it and its client would wait forever.
 */
export function closeHandedOver({ process: child }: Worker): void {
  const onTheirWay = new Map<number, Handle>()
  const send = child.send.bind(child) as (message: unknown, handle?: unknown, ...more: unknown[]) => boolean
  // Node's types omit `node:cluster` messages and raw handles.
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
