import { DetailedError, Upload } from 'tus-js-client'
import { targetOf, type Place } from '../queries.ts'
import type { Entry } from './entry.ts'

const LARGEST_PART = 8 << 20
const SMALLEST_PART = 64 << 10
/** The waits between tries, after which the upload counts as cut; each byte that arrives begins the list anew. */
const RETRIES_MS = [0, 500, 1_500]
/** A call that acts with the cookie says that it comes from the app. */
const headers = { 'x-uk-csrf': '1' }

/** The server's refusal of an upload, or that it could not be reached. */
export type Trouble =
  | { kind: 'cut' }
  | { kind: 'taken' }
  | { kind: 'refused'; code: string; message: string; details: Record<string, unknown> }

export interface Hearing {
  at(sent: number): void
  begun(url: string): void
  done(fileId: string | null): void
  trouble(trouble: Trouble): void
}

/** Sends a file by tus from where it stands, in parts that a proxy lets pass. Answers how to stop it. */
export function send(
  file: File,
  { name, type, onConflict, url }: Entry,
  place: Place,
  hearing: Hearing,
  part = LARGEST_PART,
): () => Promise<void> {
  let stop = async (): Promise<void> => upload.abort()
  const upload = new Upload(file, {
    endpoint: '/v1/drive/uploads',
    uploadUrl: url,
    headers,
    metadata: { ...targetOf(place), filename: name, on_conflict: onConflict, ...(type && { filetype: type }) },
    chunkSize: part,
    retryDelays: RETRIES_MS,
    storeFingerprintForResuming: false,
    removeFingerprintOnSuccess: false,
    onShouldRetry: (error) => {
      const trouble = troubleIn(error)
      return trouble.kind === 'cut' || (trouble.kind === 'refused' && trouble.code === 'stale_update')
    },
    onUploadUrlAvailable: () => {
      // The server names itself by its public address; this page may have been opened by another one of it.
      upload.url = new URL(upload.url!, location.href).pathname
      hearing.begun(upload.url)
    },
    onProgress: (sent) => hearing.at(sent),
    onSuccess: ({ lastResponse }) => hearing.done(lastResponse.getHeader('x-uk-file-id') ?? null),
    onError: (error) => {
      const status = error instanceof DetailedError ? error.originalResponse?.getStatus() : undefined
      // A proxy that takes less at a time.
      if (status === 413 && part > SMALLEST_PART && upload.url !== null) {
        stop = send(file, { name, type, onConflict, url: upload.url } as Entry, place, hearing, part / 4)
        return
      }
      hearing.trouble(troubleIn(error))
    },
  })
  upload.start()
  return () => stop()
}

/** Gives an upload up, at the server too. */
export const terminate = (url: string): Promise<void> => Upload.terminate(url, { headers, retryDelays: null })

function troubleIn(error: Error): Trouble {
  const response = error instanceof DetailedError ? error.originalResponse : null
  const status = response?.getStatus() ?? 0
  const said = errorIn(response?.getBody() ?? '')
  if (said?.code === 'already_exists') return { kind: 'taken' }
  if (status === 0 || (status >= 500 && status !== 507)) return { kind: 'cut' }
  return {
    kind: 'refused',
    code: said?.code ?? '',
    message: said?.message ?? `The server, or a proxy in front of it, answered ${status}.`,
    details: said?.details ?? {},
  }
}

interface Said {
  code?: string
  message?: string
  details?: Record<string, unknown>
}
function errorIn(body: string): Said | null {
  try {
    return (JSON.parse(body) as { error?: Said }).error ?? null
  } catch {
    return null
  }
}
