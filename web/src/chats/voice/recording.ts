import { sayError } from '../../api.ts'

export type Recording =
  | { is: 'idle' }
  | { is: 'asking' }
  | { is: 'recording'; since: number; stop: () => void; discard: () => void }
  | { is: 'writing' }
  | { is: 'failed'; why: string }

/** Longer ones are cut off there and written down. */
const LONGEST_MS = 10 * 60_000

/** The kinds that browsers make, the smallest first. */
const kinds = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus']

/** Records what is said until it is stopped; null: it was discarded. Rejects with a sentence for people. */
export async function record(onStart: (now: Recording & { is: 'recording' }) => void): Promise<Blob | null> {
  // Only over https, or on the machine itself, does a browser have it.
  if (!('mediaDevices' in navigator)) throw new Error('This browser records only over https.')
  const sound = await navigator.mediaDevices.getUserMedia({ audio: true }).catch((error: unknown) => {
    const name = error instanceof DOMException ? error.name : ''
    throw new Error(
      name === 'NotAllowedError'
        ? 'The browser does not let this page use the microphone. Allow it beside the address.'
        : name === 'NotFoundError'
          ? 'There is no microphone.'
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

/** Of a refusal by the browser or by the server. */
export const sayFailure = (error: unknown): string =>
  error instanceof Error && error.name === 'Error' ? error.message : sayError(error)

/** `audio/webm;codecs=opus` is a file that ends with `webm`. */
export const endingOf = (type: string): string => /^audio\/(\w+)/.exec(type)?.[1] ?? 'webm'
