import { type Entry, type ZipFile, fromBuffer } from 'yauzl'
import { Unreadable } from './document.ts'
import { type Bounds, checkParts } from './markup.ts'

const MAX_ENTRIES = 10_000
const MAX_PART = 64 << 20
const MAX_ALL = 128 << 20
/** Deflate reaches 1,032:1 only for zeros; documents stay below 100:1. */
const MAX_RATIO = 200
const RATIO_FROM = 1 << 20

export type Parts = Map<string, Buffer>

/**
 * Extracts the parts of an Office file selected by `wants`. Before extracting, refuses too many entries, excessive
 * sizes, and ratios of zip bombs; afterwards, excessive markup. The library rechecks sizes while extracting.
 */
export async function openParts(bytes: Uint8Array, bounds: Bounds, wants: (name: string) => boolean): Promise<Parts> {
  const zip = await new Promise<ZipFile>((resolve, reject) =>
    fromBuffer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), { lazyEntries: true }, (error, file) =>
      error ? reject(new Unreadable('damaged', 'The ZIP archive can’t be read.')) : resolve(file),
    ),
  )
  if (zip.entryCount > MAX_ENTRIES) throw tooLarge(`The archive has more than ${MAX_ENTRIES} entries.`)
  const selection: Entry[] = []
  let all = 0
  for await (const entry of entries(zip)) {
    const { compressedSize, uncompressedSize, fileName } = entry
    if (!wants(fileName)) continue
    all += uncompressedSize
    if (uncompressedSize > MAX_PART || all > MAX_ALL) throw tooLarge('The archive is too large when unpacked.')
    if (uncompressedSize > RATIO_FROM && uncompressedSize > compressedSize * MAX_RATIO)
      throw tooLarge('The archive’s compression ratio is too high.')
    if ((entry.generalPurposeBitFlag & 1) === 1) throw new Unreadable('encrypted', 'The archive is password-protected.')
    selection.push(entry)
  }
  const parts: Parts = new Map()
  for (const entry of selection) {
    const part = await unpackEntry(zip, entry)
    // Office files never declare entities (ECMA-376, part 2, 9.1.4); files that do are entity-expansion attacks.
    if (part.includes('<!DOCTYPE')) throw new Unreadable('damaged', 'An entry of the archive isn’t valid.')
    parts.set(entry.fileName, part)
  }
  checkParts(parts, bounds)
  return parts
}

const tooLarge = (message: string): Unreadable => new Unreadable('too_large', message)

async function* entries(zip: ZipFile): AsyncGenerator<Entry> {
  for (let i = 0; i < zip.entryCount; i++)
    yield await new Promise<Entry>((resolve, reject) => {
      const off = (): void => {
        zip.removeAllListeners('entry')
        zip.removeAllListeners('error')
        zip.removeAllListeners('end')
      }
      const onError = (): void => {
        off()
        reject(new Unreadable('damaged', 'The archive’s directory is damaged.'))
      }
      zip.once('entry', (entry: Entry) => {
        off()
        resolve(entry)
      })
      zip.once('error', onError)
      zip.once('end', onError)
      zip.readEntry()
    })
}

async function unpackEntry(zip: ZipFile, entry: Entry): Promise<Buffer> {
  const pieces: Buffer[] = []
  try {
    const stream = await new Promise<NodeJS.ReadableStream>((resolve, reject) =>
      zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream))),
    )
    for await (const piece of stream) pieces.push(piece as Buffer)
  } catch {
    throw new Unreadable('damaged', 'An entry of the archive is damaged.')
  }
  return Buffer.concat(pieces)
}
