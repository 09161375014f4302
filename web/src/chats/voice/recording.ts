import { sayError } from '../../ui/calls/errors.ts'

export type Recording =
  | { is: 'idle' }
  | { is: 'asking' }
  | { is: 'recording'; since: number; stop: () => void; discard: () => void }
  | { is: 'writing' }
  | { is: 'failed'; why: string }

/** The maximum length; longer recordings are cut off and transcribed. */
const LONGEST_MS = 10 * 60_000

/** Audio formats of browsers, smallest first. */
const kinds = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus']

/** Records speech until stopped; null: discarded. Rejects with a message for people. */
export async function record(onStart: (now: Recording & { is: 'recording' }) => void): Promise<Blob | null> {
  // Browsers allow recording only over HTTPS or on localhost.
  if (!('mediaDevices' in navigator)) throw new Error('Recording needs HTTPS.')
  const sound = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((error: unknown) => {
    const name = error instanceof DOMException ? error.name : ''
    throw new Error(
      name === 'NotAllowedError'
        ? 'Microphone access is blocked. Allow it in the address bar.'
        : name === 'NotFoundError'
          ? 'No microphone was found.'
          : 'The microphone can’t be used.',
      { cause: error },
    )
  })
  try {
    const mimeType = kinds.find((kind) => MediaRecorder.isTypeSupported(kind))
    const recorder = new MediaRecorder(sound, mimeType === undefined ? {} : { mimeType })
    const parts: Blob[] = []
    recorder.addEventListener('dataavailable', ({ data }) => void (data.size > 0 && parts.push(data)))
    return await new Promise<Blob | null>((resolve) => {
      let isKept = true
      const end = (keep: boolean) => (): void => {
        isKept &&= keep
        if (recorder.state !== 'inactive') recorder.stop()
      }
      const timer = setTimeout(end(true), LONGEST_MS)
      recorder.addEventListener('stop', () => {
        clearTimeout(timer)
        resolve(isKept && parts.length > 0 ? new Blob(parts, { type: recorder.mimeType }) : null)
      })
      recorder.start(1_000)
      onStart({ is: 'recording', since: Date.now(), stop: end(true), discard: end(false) })
    })
  } finally {
    for (const track of sound.getTracks()) track.stop()
  }
}

export const sayFailure = (error: unknown): string =>
  error instanceof Error && error.name === 'Error' ? error.message : sayError(error)

/** The file extension of a media type: `webm` for `audio/webm;codecs=opus`. */
export const endingOf = (type: string): string => /^audio\/(\w+)/.exec(type)?.[1] ?? 'webm'
