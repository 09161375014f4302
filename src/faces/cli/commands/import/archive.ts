import { readFile, stat } from 'node:fs/promises'
import { type Entry, type ZipFile, open as openZip } from 'yauzl'
import { Stop } from '../../exit.ts'

/** The largest JSON text that is read: what JavaScript can hold as one. */
const MOST_BYTES = 500_000_000
const MOST_ENTRIES = 200_000
const MOST_CHATS = 100_000

/** The chats of an export: of its JSON, or of the JSON files of these names in its ZIP. */
export async function chatsIn(path: string, wanted: RegExp): Promise<unknown[]> {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile()) throw new Stop('usage', `${path} is not a file that can be read.`)
  const texts = (await isZip(path)) ? await textsIn(path, wanted) : [await whole(path, found.size)]
  const chats = texts.flatMap((text) => listOf(text, path))
  if (chats.length > MOST_CHATS) throw new Stop('usage', `${path} holds more than ${MOST_CHATS} chats.`)
  return chats
}

async function whole(path: string, size: number): Promise<string> {
  if (size > MOST_BYTES) throw tooLarge(path)
  return readFile(path, 'utf8')
}

const tooLarge = (path: string): Stop =>
  new Stop('usage', `${path} holds more than ${MOST_BYTES / 1e6} MB of JSON, which is more than can be read at once.`)

function listOf(text: string, path: string): unknown[] {
  let value: unknown
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    // Nested too deep is a RangeError, and not JSON that anybody exported either.
    throw new Stop('usage', `${path} does not hold JSON that can be read: ${(error as Error).message.slice(0, 200)}.`)
  }
  if (Array.isArray(value)) return value
  if (value !== null && typeof value === 'object') return [value]
  throw new Stop('usage', `${path} does not hold a list of chats.`)
}

async function isZip(path: string): Promise<boolean> {
  const { open } = await import('node:fs/promises')
  await using file = await open(path, 'r')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
  return bytesRead === 4 && buffer.readUInt32LE() === 0x04034b50
}

/** Counts what comes out, whatever the archive says of itself. */
async function textsIn(path: string, wanted: RegExp): Promise<string[]> {
  const zip = await new Promise<ZipFile>((resolve, reject) =>
    openZip(path, { lazyEntries: true, autoClose: false, strictFileNames: true }, (error, file) =>
      error ? reject(broken(path, error)) : resolve(file),
    ),
  )
  try {
    if (zip.entryCount > MOST_ENTRIES) throw new Stop('usage', `${path} has more than ${MOST_ENTRIES} entries.`)
    const entries = (await entriesOf(zip, path)).filter(({ fileName }) => wanted.test(fileName))
    if (entries.length === 0)
      throw new Stop('usage', `${path} has no conversations.json: is it the export of another program?`)
    const texts: string[] = []
    let left = MOST_BYTES
    for (const entry of entries.toSorted((a, b) => a.fileName.localeCompare(b.fileName))) {
      const bytes = await bytesOf(zip, entry, left, path)
      left -= bytes.length
      texts.push(bytes.toString('utf8'))
    }
    return texts
  } finally {
    zip.close()
  }
}

const broken = (path: string, error: Error): Stop =>
  new Stop('usage', `${path} is not a ZIP that can be read: ${error.message}.`)

const entriesOf = (zip: ZipFile, path: string): Promise<Entry[]> =>
  new Promise((resolve, reject) => {
    const entries: Entry[] = []
    zip.on('entry', (entry: Entry) => {
      entries.push(entry)
      zip.readEntry()
    })
    zip.once('end', () => resolve(entries))
    zip.once('error', (error: Error) => reject(broken(path, error)))
    zip.readEntry()
  })

async function bytesOf(zip: ZipFile, entry: Entry, most: number, path: string): Promise<Buffer> {
  const stream = await new Promise<NodeJS.ReadableStream>((resolve, reject) =>
    zip.openReadStream(entry, (error, opened) => (error ? reject(broken(path, error)) : resolve(opened))),
  )
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const part of stream as AsyncIterable<Buffer>) {
      length += part.length
      if (length > most) throw tooLarge(path)
      parts.push(part)
    }
  } catch (error) {
    throw error instanceof Stop ? error : broken(path, error as Error)
  }
  return Buffer.concat(parts)
}
