/** The sandboxed process that reads untrusted media. It has no keys and may not write files or start programs. */
import type { MediaFacts } from '../facts.ts'
import type { ProbeRequest, ProbeResult } from './probe.ts'
import { UnreadableMedia } from './unreadable.ts'

process.on('message', (request: ProbeRequest) => void answer(request))
process.on('disconnect', () => process.exit(0))

async function answer(request: ProbeRequest): Promise<void> {
  process.send!(
    await read(request).catch((error: unknown): ProbeResult => {
      const { reason, message } =
        error instanceof UnreadableMedia
          ? error
          : { reason: 'damaged' as const, message: 'It’s damaged: its content doesn’t match its format.' }
      return { reason, message }
    }),
  )
}

async function read({ path, want }: ProbeRequest): Promise<ProbeResult> {
  const { readBeginning } = await import('./kind.ts')
  const start = await readBeginning(path)
  if (start.kind === 'image') {
    const { readPicture, barePicture } = await import('./picture.ts')
    return want === 'bare' ? barePicture(path, start) : { facts: await readPicture(path, start), bytes: null }
  }
  if (want === 'bare') throw new UnreadableMedia('other_kind', `It’s ${start.type}, not an image.`)
  const { readRecording } = await import('./recording.ts')
  const facts: MediaFacts = await readRecording(path, start)
  return { facts, bytes: null }
}
