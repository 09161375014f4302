import { open } from 'node:fs/promises'
import { refuse } from '#core/errors.ts'
import type { Stream } from '#packages/mux/stream.ts'
import { isFull } from '../../files/faults.ts'
import type { Progress } from '../engine.ts'
import { checkRoom, full } from './download.ts'

/** Receives a file from the server. Named by its digest, so an interrupted transfer resumes. */
export async function receive(
  stream: Stream,
  part: string,
  { size }: { size: number },
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  await using file = await open(part, 'a+')
  let at = (await file.stat()).size
  if (at > size) {
    await file.truncate(0)
    at = 0
  }
  await checkRoom(part, size - at, at)
  stream.event({ type: 'offset', offset: at })
  progress('downloading', at, size)
  try {
    for await (const each of stream) {
      signal.throwIfAborted()
      if (each.type === 'finished') break
      if (each.type !== 'bytes') continue
      if (each.offset !== at || at + each.bytes.length > size)
        refuse('invalid_parameter', {
          param: 'size',
          message: `The server sent bytes that don’t belong at offset ${at} of ${size}.`,
        })
      await file.appendFile(each.bytes)
      at += each.bytes.length
      progress('downloading', at, size)
    }
  } catch (error) {
    if (isFull(error)) await full(part, size - at)
    throw error
  }
  if (at < size)
    refuse('interrupted', { message: `The download ended after ${at} of ${size} bytes.`, details: { offset: at } })
  await file.sync()
}
