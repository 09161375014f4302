import { readBlob } from '#infra/blobs/keep.ts'
import type { Context } from '#infra/context.ts'
import { type DocumentKind, kindOf } from '#infra/text/documents/document.ts'
import type { ScanFile, ScanTask, ScanResult } from '#infra/text/scan/scan.ts'
import type { Id } from '#core/ids.ts'
import { type Candidate, findStore } from './find-store.ts'
import { orBusy } from './glob.ts'

const TASK_FILES = 128
const TASK_BYTES = 8 << 20

type Task = Omit<ScanTask, 'files'>

/**
 * Searches files in worker threads and yields each with its hits, in order. Threads work ahead while the caller
 * wants more.
 */
export async function* searchFiles(
  ctx: Context,
  files: readonly Candidate[],
  task: Task,
  afterLine: number,
  first: Id | undefined,
): AsyncGenerator<{ file: Candidate; scanned: ScanResult }> {
  const { scanner } = ctx.engine
  const enough = new AbortController()
  const signal = AbortSignal.any([ctx.signal, enough.signal])
  const queue: Promise<{ file: Candidate; scanned: ScanResult }[]>[] = []
  const parts = tasksOf(files)
  try {
    for (;;) {
      while (queue.length < scanner.width * 2) {
        const part = parts.next()
        if (part.done) break
        const scanning = scanPart(ctx, part.value, task, afterLine, first, signal).catch(orBusy)
        scanning.catch(() => {})
        queue.push(scanning)
      }
      const ready = queue.shift()
      if (ready === undefined) return
      yield* await ready
    }
  } finally {
    // Cancels work ahead once the page is full.
    enough.abort()
    await Promise.allSettled(queue)
  }
}

/** Splits candidates into tasks, small ones first, so a page that fills quickly is cheap. */
function* tasksOf(files: readonly Candidate[]): Generator<Candidate[]> {
  let part: Candidate[] = []
  let bytes = 0
  let most = 16
  for (const file of files) {
    part.push(file)
    bytes += Number(file.size_bytes)
    if (part.length < most && bytes < TASK_BYTES) continue
    yield part
    part = []
    bytes = 0
    most = Math.min(TASK_FILES, most * 2)
  }
  if (part.length > 0) yield part
}

async function scanPart(
  ctx: Context,
  part: Candidate[],
  task: Task,
  afterLine: number,
  first: Id | undefined,
  signal: AbortSignal,
) {
  const answers: ScanResult[] = part.map((file, index) => ({
    index,
    count: 0,
    lines: [],
    more: false,
    skipped: unsearchable(file),
  }))
  // A file that spans two pages resumes after the last returned line.
  const resumed = first !== undefined && afterLine > 0 && part[0]?.id === first
  const mostLines = resumed ? afterLine + task.mostLines : task.mostLines
  const { scanner } = ctx.engine
  if (answers.some(({ skipped }) => skipped === null)) {
    const load = async (): Promise<ScanTask> => {
      const searchable = [...part.entries()].filter(([index]) => answers[index]!.skipped === null)
      return { ...task, mostLines, files: await loadFiles(ctx, searchable) }
    }
    for (const scanned of await scanner.scan(ctx.principal.accountId, load, signal)) answers[scanned.index] = scanned
  }
  return part.map((file, index) => {
    const scanned = answers[index]!
    if (!(resumed && index === 0)) return { file, scanned }
    const lines = scanned.lines.filter(({ line }) => line > afterLine)
    return { file, scanned: { ...scanned, lines } }
  })
}

async function loadFiles(ctx: Context, part: readonly (readonly [number, Candidate])[]): Promise<ScanFile[]> {
  const { blobs } = ctx.engine
  const extracted = part.filter(([, { plain, has_text }]) => !plain && has_text).map(([, { sha256 }]) => sha256)
  const texts = await findStore.texts(ctx.db, extracted)
  const files: ScanFile[] = []
  for (const [index, { sha256, plain, place: at }] of part) {
    const text = plain ? undefined : texts.get(sha256)
    const path = text === undefined ? blobs.pathOf(at) : null
    const source =
      text !== undefined
        ? { bytes: Buffer.from(text) }
        : path !== null
          ? { path }
          : { bytes: await wholeBlob(ctx, sha256) }
    files.push({ index, source, plain: plain || text !== undefined, sha256 })
  }
  return files
}

type Skip = Exclude<ScanResult['skipped'], null>

/** Why a file can't be searched, as far as that is known in advance. */
function unsearchable({ waiting, reason, size_bytes, plain, has_text, mime_type, name }: Candidate): Skip | null {
  if (reason !== null && reason !== 'incomplete') return reason as Skip
  // A file not yet indexed is searched directly unless it is too large.
  if (waiting)
    return Number(size_bytes) > MAX_PLAIN || isOffice(kindOf(mime_type, name)) ? ('not_indexed_yet' as Skip) : null
  return plain || has_text ? null : ('not_indexed_yet' as Skip)
}
const MAX_PLAIN = 32 << 20
const isOffice = (kind: DocumentKind | null): boolean => kind !== null && kind !== 'text' && kind !== 'html'

async function wholeBlob(ctx: Context, sha256: string): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of readBlob(ctx.engine, sha256)) parts.push(part)
  return Buffer.concat(parts)
}
