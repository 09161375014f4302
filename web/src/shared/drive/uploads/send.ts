import { DetailedError, Upload } from 'tus-js-client'
import { targetOf, type Place } from '../files.ts'
import type { Entry } from './entry.ts'

const LARGEST_PART = 8 << 20
const SMALLEST_PART = 64 << 10
/** Retry delays. Received bytes restart the list; after the last delay, the upload is interrupted. */
const RETRIES_MS = [0, 500, 1_500]
/** Marks cookie-authenticated calls as coming from the app. */
const headers = { 'x-uk-csrf': '1' }

/** The server's error, or that it can't be reached. */
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

/** Uploads a file by tus from its current offset, in chunks that proxies accept. Returns a function that stops it. */
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
      // The server returns its public address, but the page may use another one.
      upload.url = new URL(upload.url!, location.href).pathname
      hearing.begun(upload.url)
    },
    onProgress: (sent) => hearing.at(sent),
    onSuccess: ({ lastResponse }) => hearing.done(lastResponse.getHeader('x-uk-file-id') ?? null),
    onError: (error) => {
      const status = error instanceof DetailedError ? error.originalResponse?.getStatus() : undefined
      // For proxies with a lower limit.
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

/** Cancels an upload, also on the server. */
export const terminate = (url: string): Promise<void> => Upload.terminate(url, { headers, retryDelays: null })

function troubleIn(error: Error): Trouble {
  const response = error instanceof DetailedError ? error.originalResponse : null
  const status = response?.getStatus() ?? 0
  const serverError = errorIn(response?.getBody() ?? '')
  if (serverError?.code === 'already_exists') return { kind: 'taken' }
  if (status === 0 || (status >= 500 && status !== 507)) return { kind: 'cut' }
  return {
    kind: 'refused',
    code: serverError?.code ?? '',
    message: serverError?.message ?? `The server or a proxy responded with HTTP ${status}.`,
    details: serverError?.details ?? {},
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
