import { CHANNEL } from '#daemon-protocol/channels.ts'
import type { Stream } from '#packages/mux/stream.ts'
import type { Size } from './log.ts'
import type { Terminal } from './terminal.ts'

const PART = 65_536
/** A viewer further behind than this skips ahead to the current screen. */
const FAR_BEHIND = 1_048_576

/**
 * Streams a terminal until it ends. Each viewer reads the log at its own pace, so a slow one delays no other.
 * Without `from`, or if the log no longer has it, the screen and its scrollback come first.
 */
export async function show(
  terminal: Terminal,
  stream: Stream,
  from: number | null,
  signal: AbortSignal,
): Promise<void> {
  const { log } = terminal
  let at = from ?? -1
  let sizeSent: Size | null = null
  for (;;) {
    if (signal.aborted) return
    const { start, end } = log.ring
    if (at < start || at > end || end - at > FAR_BEHIND) {
      const gapStart = at
      const snapshot = terminal.snapshot()
      if (gapStart >= 0) stream.event({ type: 'gap', from: gapStart, to: snapshot.at })
      sizeSent = tell(stream, sizeSent, log.sizeAt(snapshot.at).size)
      stream.event({ type: 'snapshot', at: snapshot.at, bytes: snapshot.bytes.length })
      await stream.write(snapshot.bytes, CHANNEL.snapshot)
      at = snapshot.at
      continue
    }
    const { size, until } = log.sizeAt(at)
    sizeSent = tell(stream, sizeSent, size)
    const part = log.ring.read(at, Math.min(PART, until - at))
    if (part.length > 0) {
      at += part.length
      await stream.write(part, CHANNEL.body, at - part.length)
    } else if (!terminal.isOpen) break
    else await log.change(signal)
  }
  const { exit_code, signal: by } = terminal.ending
  stream.event({ type: 'ended', exit_code, signal: by })
}

function tell(stream: Stream, sizeSent: Size | null, size: Size): Size {
  if (sizeSent?.cols !== size.cols || sizeSent.rows !== size.rows) stream.event({ type: 'resize', ...size })
  return size
}
