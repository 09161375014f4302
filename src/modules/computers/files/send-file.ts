import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { AskedStream } from '#daemon-protocol/link.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { CHANNEL, type Input, type Output } from '#daemon-protocol/operations.ts'
import { LinkLost, StreamReset } from '#packages/mux/stream.ts'
import type { UseLimit } from '../link/limits.ts'
import type { Links } from '../link/links.ts'
import { lossesOf } from '../link/losses.ts'
import { type Replay, createReplay } from './replay.ts'

export interface Sending {
  links: Links
  computerId: Id
  file: Omit<Input<'fs.write'>, 'offset'> & { offset: number }
  source: AsyncIterable<Uint8Array>
  signal: AbortSignal
}

const Progress = z.object({ type: z.literal('offset'), offset: z.number().int().min(0) })

/** Conflicting offsets in a row without progress. The delay doubles. */
const MAX_STALE = 6
const STALE_MS = 50

/** Resumes over new links. Buffers only unacknowledged bytes. */
export async function sendFile({
  links,
  computerId,
  file,
  source,
  signal: caller,
}: Sending): Promise<Output<'fs.write'>> {
  // Measures waits for the computer, not for the source.
  using limit = links.limit(computerId, caller, links.limits.stillMs)
  const { signal } = limit
  const replay = createReplay(source, file.offset)
  using _source = { [Symbol.dispose]: () => replay.close() }
  const losses = lossesOf(links, computerId, { signal })
  let staleCount = 0
  let acknowledged = file.offset
  for (let at = file.offset, again = false; ;) {
    try {
      if (again) at = await offsetOf()
      const stream = await links.open(computerId, 'fs.write', { ...file, offset: at }, { signal })
      return await feed(stream, replay, at, { limit, onProgress: () => losses.over() })
    } catch (error) {
      signal.throwIfAborted()
      // The previous link was still writing when the offset was read.
      if (
        again &&
        error instanceof Refusal &&
        error.code === 'stale_update' &&
        isBuffered(replay, error.details?.offset)
      ) {
        // Progress proves that the computer is working.
        staleCount = replay.buffered.from > acknowledged ? 1 : staleCount + 1
        acknowledged = replay.buffered.from
        if (staleCount > MAX_STALE)
          refuse('interrupted', {
            message: 'The computer keeps reporting a different offset for this upload.',
          })
        await sleep(STALE_MS * 2 ** staleCount, undefined, { signal })
        continue
      }
      await losses.outlast(error)
      again = true
    }
  }

  async function offsetOf(): Promise<number> {
    const { offset } = await links.ask(computerId, 'fs.upload_offset', { path: file.path, key: file.key }, { signal })
    if (!isBuffered(replay, offset))
      return refuse('stale_update', {
        param: 'offset',
        message: `The connection to the computer was lost. ${offset} bytes of this upload have arrived. Send the rest.`,
        details: { offset },
      })
    return offset
  }
}

const isBuffered = ({ buffered }: Replay, offset: unknown): boolean =>
  typeof offset === 'number' && offset >= buffered.from && offset <= buffered.to

async function feed(
  stream: AskedStream<'fs.write'>,
  replay: Replay,
  from: number,
  { limit, onProgress }: { limit: UseLimit; onProgress(): void },
): Promise<Output<'fs.write'>> {
  let fault: unknown = null
  /** Bounds what the computer can claim to have. */
  let sentOffset = from
  let isResting = false
  async function write(): Promise<void> {
    for (let at = from; ;) {
      isResting = at === replay.buffered.to && !replay.isFull
      if (isResting) limit.rest()
      const bytes = await replay.at(at)
      isResting = false
      limit.moved()
      if (bytes === null) return stream.finish()
      await stream.write(bytes, CHANNEL.body, at)
      limit.moved()
      at += bytes.length
      sentOffset = at
    }
  }
  const writing = write().catch((error: unknown) => {
    // The end of the stream reports it.
    if (error instanceof LinkLost || error instanceof StreamReset) return
    fault = error
    stream.reset('the sender broke off')
  })
  try {
    for await (const item of stream) {
      const { data } = Progress.safeParse(item.type === 'event' ? item.event : null)
      if (data === undefined) continue
      replay.acknowledge(Math.min(data.offset, sentOffset))
      if (!isResting) limit.moved()
      onProgress()
    }
    return await stream.output
  } catch (error) {
    if (fault !== null) await writing
    throw fault ?? error
  }
}
