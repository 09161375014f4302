import { type AskedStream, type Incoming, LinkLost, type Stream } from './stream.ts'

/**
 * Connects a stream to one opened further along, both ways with backpressure. Returns or throws what the further
 * one does.
 */
export async function relay(from: Stream, to: AskedStream, signal: AbortSignal): Promise<object> {
  const leave = (): void => {
    if (signal.reason instanceof LinkLost) to.lose(signal.reason.message)
    else to.reset('the caller left')
  }
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  // Ends with its stream.
  void carry(from, to).catch(() => {})
  try {
    await carry(to, from)
    return await to.output
  } catch (error) {
    // The further stream's error explains why.
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
