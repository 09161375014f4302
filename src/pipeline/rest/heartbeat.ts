/** A comment that keeps idle streams open: proxies close silent connections. */
const HEARTBEAT = Buffer.from(':\n\n')
const SLOTS = 15

const slots: Set<HeartbeatStream>[] = Array.from({ length: SLOTS }, () => new Set())
let ticking: NodeJS.Timeout | null = null
let now = 0
let beating = 0

export interface HeartbeatStream {
  write(bytes: Uint8Array): unknown
}

/**
 * Sends a heartbeat every 15 s, with one timer for all streams: a fifteenth of them each second. Returns the slot for
 * `still`.
 */
export function startHeartbeat(stream: HeartbeatStream): number {
  slots[now]!.add(stream)
  beating += 1
  ticking ??= setInterval(() => {
    now = (now + 1) % SLOTS
    for (const each of slots[now]!) each.write(HEARTBEAT)
  }, 1_000)
  return now
}

export function stopHeartbeat(stream: HeartbeatStream, slot: number): void {
  if (!slots[slot]!.delete(stream)) return
  beating -= 1
  if (beating > 0 || ticking === null) return
  clearInterval(ticking)
  ticking = null
}
