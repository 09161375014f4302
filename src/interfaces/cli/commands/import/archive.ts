import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path/posix'
import { type Entry, type ZipFile, open as openZip } from 'yauzl'
import { Stop } from '../../exit.ts'
import { type ExportFiles, noFiles } from './files.ts'
import { shorten } from '#core/text/shorten.ts'

/** Largest JSON text, near JavaScript's string limit. */
const MAX_BYTES = 500_000_000
const MAX_ENTRIES = 200_000
const MAX_CHATS = 100_000

/** The chats of an export, and its files, which are readable until disposal. */
export interface Archive extends AsyncDisposable {
  chats: unknown[]
  files: ExportFiles
}

/** Opens an export: a JSON file, or a ZIP with the wanted JSON files and other files next to them. */
export async function openArchive(path: string, wanted: RegExp): Promise<Archive> {
  const stats = await stat(path).catch(() => null)
  if (!stats?.isFile()) throw new Stop('usage', `Can't read ${path}.`)
  await using stack = new AsyncDisposableStack()
  const zip = (await isZip(path)) ? stack.adopt(await zipAt(path), (file) => file.close()) : null
  const entries = zip === null ? [] : await entriesOf(zip, path)
  const texts = zip === null ? [await whole(path, stats.size)] : await textsIn(zip, entries, path, wanted)
  const chats = texts.flatMap((text) => listOf(text, path))
  if (chats.length > MAX_CHATS) throw new Stop('usage', `${path} contains more than ${MAX_CHATS} chats.`)
  const running = stack.move()
  const files = zip === null ? noFiles : filesOf(zip, entries, path)
  return { chats, files, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

/** Finds entries whose names start with an ID: `file-abc-boat.png` for `file-abc`. */
function filesOf(zip: ZipFile, entries: readonly Entry[], path: string): ExportFiles {
  const byId = new Map<string, Entry>()
  for (const entry of entries) {
    const name = basename(entry.fileName)
    // The ID's end isn't marked, so index each prefix that ends at a separator.
    for (const { index } of name.matchAll(/[-._]|$/g))
      if (index > 0 && !byId.has(name.slice(0, index))) byId.set(name.slice(0, index), entry)
  }
  return {
    find(ref) {
      const entry = /^[\w-]{8,}$/.test(ref) ? byId.get(ref) : undefined
      return entry === undefined ? null : { name: basename(entry.fileName), size: entry.uncompressedSize }
    },
    read: async (ref) => boundedTo(await streamOf(zip, byId.get(ref)!, path), byId.get(ref)!.uncompressedSize, path),
  }
}

/** Reads an entry up to its declared size, which yauzl also enforces. */
async function* boundedTo(stream: AsyncIterable<Uint8Array>, most: number, path: string): AsyncGenerator<Uint8Array> {
  let length = 0
  try {
    for await (const part of stream) {
      length += part.length
      if (length > most) throw tooLarge(path)
      yield part
    }
  } catch (error) {
    throw error instanceof Stop ? error : broken(path, error as Error)
  }
}

async function whole(path: string, size: number): Promise<string> {
  if (size > MAX_BYTES) throw tooLarge(path)
  return readFile(path, 'utf8')
}

const tooLarge = (path: string): Stop =>
  new Stop('usage', `${path} contains more than ${MAX_BYTES / 1e6} MB of JSON, the most that can be imported at once.`)

function listOf(text: string, path: string): unknown[] {
  let value: unknown
  if (text.startsWith('SQLite format 3\0'))
    throw new Stop('usage', `${path} is a database.`, `If it's from Open WebUI, run: uk import open-webui ${path}`)
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    // JSON nested too deeply throws a RangeError.
    throw new Stop('usage', `${path} isn't valid JSON: ${shorten((error as Error).message, 200)}.`)
  }
  if (Array.isArray(value)) return value
  if (value !== null && typeof value === 'object') return [value]
  throw new Stop('usage', `${path} doesn't contain a list of chats.`)
}

async function isZip(path: string): Promise<boolean> {
  const { open } = await import('node:fs/promises')
  await using file = await open(path, 'r')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
  return bytesRead === 4 && buffer.readUInt32LE() === 0x04034b50
}

const zipAt = (path: string): Promise<ZipFile> =>
  new Promise((resolve, reject) =>
    openZip(path, { lazyEntries: true, autoClose: false, strictFileNames: true }, (error, file) =>
      error ? reject(broken(path, error)) : resolve(file),
    ),
  )

/** Counts the decompressed bytes instead of trusting the archive. */
async function textsIn(zip: ZipFile, all: readonly Entry[], path: string, wanted: RegExp): Promise<string[]> {
  const entries = all.filter(({ fileName }) => wanted.test(fileName))
  if (entries.length === 0)
    throw new Stop('usage', `${path} has no conversations.json. Is it an export from another app?`)
  const texts: string[] = []
  let remaining = MAX_BYTES
  for (const entry of entries.toSorted((a, b) => a.fileName.localeCompare(b.fileName))) {
    const parts = await Array.fromAsync(boundedTo(await streamOf(zip, entry, path), remaining, path))
    const bytes = Buffer.concat(parts)
    remaining -= bytes.length
    texts.push(bytes.toString('utf8'))
  }
  return texts
}

const broken = (path: string, error: Error): Stop =>
  new Stop('usage', `${path} isn't a valid ZIP file: ${error.message}.`)

const entriesOf = (zip: ZipFile, path: string): Promise<Entry[]> =>
  new Promise((resolve, reject) => {
    if (zip.entryCount > MAX_ENTRIES) throw new Stop('usage', `${path} has more than ${MAX_ENTRIES} entries.`)
    const entries: Entry[] = []
    zip.on('entry', (entry: Entry) => {
      entries.push(entry)
      zip.readEntry()
    })
    zip.once('end', () => resolve(entries))
    zip.once('error', (error: Error) => reject(broken(path, error)))
    zip.readEntry()
  })

const streamOf = (zip: ZipFile, entry: Entry, path: string): Promise<AsyncIterable<Uint8Array>> =>
  new Promise((resolve, reject) =>
    zip.openReadStream(entry, (error, opened) => (error ? reject(broken(path, error)) : resolve(opened))),
  )
