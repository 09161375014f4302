import { PDFWorker, PasswordResponses, type PDFDocumentProxy, type PDFPageProxy, getDocument } from 'pdfjs-dist'
// oxlint-disable-next-line import/default -- Vite turns it into a URL.
import workerFile from 'pdfjs-dist/build/pdf.worker.min.mjs?url'
import { workerUrl } from '../../../shared/service-worker/worker.ts'
import { PARTS } from './parts.ts'

export type { PDFPageProxy }
export type Pdf = PDFDocumentProxy

export type Refusal = 'locked' | 'broken' | 'slow' | 'gone'

/** The time limit for the first page. */
const OPENING_MS = 30_000
/** The pixel limit of images; larger ones are omitted. */
const MAX_PIXELS = 64 << 20

/** Asks for the password of a locked document; `wrong`: the previous password failed. */
export interface AskedPassword {
  wrong: boolean
  answer: (password: string) => void
}

/**
 * Opens a PDF with pdf.js in a worker with its own content security policy (mount.ts in the server's app folder): it
 * has no network access, and the page passes it everything it needs. Passwords are only sent to that worker and never
 * stored. Scripts, forms and links are ignored; only page images and text are used. Bytes are fetched in ranges, for
 * the pages in view.
 */
export function openPdf(url: string, ask: (asked: AskedPassword) => void): { ready: Promise<Pdf>; close: () => void } {
  const port = new Worker(workerUrl(workerFile), { type: 'module', name: 'pdf' })
  const worker = PDFWorker.create({ port })
  const task = getDocument({
    url: new URL(url, location.href).href,
    worker,
    verbosity: 0,
    rangeChunkSize: 256 << 10,
    disableAutoFetch: true,
    disableStream: true,
    maxImageSize: MAX_PIXELS,
    canvasMaxAreaInBytes: MAX_PIXELS * 4,
    enableXfa: false,
    useWorkerFetch: false,
    cMapUrl: `${PARTS}cmaps/`,
    standardFontDataUrl: `${PARTS}standard_fonts/`,
    wasmUrl: `${PARTS}wasm/`,
  })
  let isClosed = false
  const close = (): void => {
    if (isClosed) return
    isClosed = true
    void task.destroy().catch(() => {})
    // A hung worker doesn't process the termination message.
    port.terminate()
  }
  const ready = new Promise<Pdf>((resolve, reject) => {
    const isLate = (): void => reject(new Refused('slow'))
    let late = setTimeout(isLate, OPENING_MS)
    const failed = (): void => reject(new Refused('broken'))
    port.addEventListener('error', failed)
    task.onPassword = (open: (password: string) => void, reason: number) => {
      // No time limit while the person types a password.
      clearTimeout(late)
      ask({
        wrong: reason === PasswordResponses.INCORRECT_PASSWORD,
        answer(password) {
          late = setTimeout(isLate, OPENING_MS)
          open(password)
        },
      })
    }
    task.promise
      // A document without a readable first page is treated as damaged.
      .then(async (pdf) => (await pdf.getPage(1), pdf))
      .then(resolve, (error: unknown) => reject(new Refused(refusalOf(error))))
      .finally(() => clearTimeout(late))
  })
  ready.catch(close)
  return { ready, close }
}

export class Refused extends Error {
  readonly why: Refusal

  constructor(why: Refusal) {
    super(why)
    this.why = why
  }
}

function refusalOf(error: unknown): Refusal {
  const { name, status } = error as { name?: string; status?: number }
  if (name === 'PasswordException') return 'locked'
  return name === 'ResponseException' && status !== 0 ? 'gone' : 'broken'
}
