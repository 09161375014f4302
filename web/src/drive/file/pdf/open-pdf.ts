import { PDFWorker, PasswordResponses, type PDFDocumentProxy, type PDFPageProxy, getDocument } from 'pdfjs-dist'
// oxlint-disable-next-line import/default -- Vite makes an address of it.
import workerFile from 'pdfjs-dist/build/pdf.worker.min.mjs?url'
import { workerUrl } from '../../../install/worker.ts'
import { PARTS } from './parts.ts'

export type { PDFPageProxy }
export type Pdf = PDFDocumentProxy

/** The reason for which a PDF is not shown. */
export type Refusal = 'locked' | 'broken' | 'slow' | 'gone'

/** The time after which a document without a first page is given up. */
const OPENING_MS = 30_000
/** The most pixels of a picture: larger ones are left out of their page. */
const MOST_PIXELS = 64 << 20

/** The question for the password of a locked document; `wrong`: the password before did not open it. */
export interface AskedPassword {
  wrong: boolean
  answer: (password: string) => void
}

/**
 * Reads a PDF (pdf.js) in a worker of its own, which has a policy of its own (src/interfaces/app/mount.ts): it calls nobody, and
 * what it needs this page brings it. A password goes to that worker and is kept nowhere. Scripts, forms and links of the document are left alone: there are only pictures of
 * its pages and their words. Bytes are fetched in parts, those of the pages that are looked at.
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
    maxImageSize: MOST_PIXELS,
    canvasMaxAreaInBytes: MOST_PIXELS * 4,
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
    // One that hangs does not hear that it is to end.
    port.terminate()
  }
  const ready = new Promise<Pdf>((resolve, reject) => {
    const isLate = (): void => reject(new Refused('slow'))
    let late = setTimeout(isLate, OPENING_MS)
    const failed = (): void => reject(new Refused('broken'))
    port.addEventListener('error', failed)
    task.onPassword = (open: (password: string) => void, reason: number) => {
      // A person who looks for a password takes their time.
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
      // A document of which not even the first page can be read is none.
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
