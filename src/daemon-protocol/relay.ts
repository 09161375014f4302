import type { OperationName } from './operations.ts'
import { type AskedStream, type Incoming, LinkLost, type Stream } from './stream.ts'

/**
 * Joins a stream that was opened here to the one that was opened further on for it: what comes on one goes to the other,
 * no faster than it is taken there. Answers what the further one answers, or throws what it throws.
 */
export async function relay(from: Stream, to: AskedStream<OperationName>, signal: AbortSignal): Promise<object> {
  const leave = (): void => {
    if (signal.reason instanceof LinkLost) to.lose(signal.reason.message)
    else to.reset('the caller left')
  }
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  // It ends with its stream.
  void carry(from, to).catch(() => {})
  try {
    await carry(to, from)
    return await to.output
  } catch (error) {
    // Of the two, the further one's end says why.
    if (!signal.aborted) await to.output
    throw error
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

async function carry(from: AsyncIterable<Incoming>, to: Stream): Promise<void> {
  for await (const item of from) {
    if (item.type === 'bytes') await to.write(item.bytes, item.channel, item.offset)
    else if (item.type === 'event') {
      to.event(item.event as object)
      await to.taken()
    } else to.finish()
  }
}
