import { sayError } from '../../api.ts'

export type Recording =
  | { is: 'idle' }
  | { is: 'asking' }
  | { is: 'recording'; since: number; stop: () => void; discard: () => void }
  | { is: 'writing' }
  | { is: 'failed'; why: string }

/** The longest recording: it is cut off there and written down. */
const LONGEST_MS = 10 * 60_000

/** The kinds of sound that browsers make, the smallest first. */
const kinds = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus']

/** Records speech until it is stopped; null: it was discarded. Rejects with a sentence for people. */
export async function record(onStart: (now: Recording & { is: 'recording' }) => void): Promise<Blob | null> {
  // A browser has it only over https, or on the machine itself.
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

/** The sentence for a refusal by the browser or by the server. */
export const sayFailure = (error: unknown): string =>
  error instanceof Error && error.name === 'Error' ? error.message : sayError(error)

/** The ending of a file of this type: `audio/webm;codecs=opus` is a file that ends with `webm`. */
export const endingOf = (type: string): string => /^audio\/(\w+)/.exec(type)?.[1] ?? 'webm'
