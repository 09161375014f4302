import { type FileHandle, open } from 'node:fs/promises'
import { BackupRefused } from './refused.ts'

/**
 * Tar archives as far as backups need them: POSIX.1-1988 `ustar`, sizes from 8 GiB in GNU tar's base 256, plain files
 * with short names. The reader finds an entry without reading those before it.
 */
const BLOCK = 512
const ZEROS = Buffer.alloc(BLOCK)

export const paddingOf = (size: number): Buffer => ZEROS.subarray(0, (BLOCK - (size % BLOCK)) % BLOCK)
export const END = Buffer.alloc(2 * BLOCK)

export function headerOf(name: string, size: number, seconds: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  header.write(name, 0, 100, 'ascii')
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  if (size < 8 ** 11) header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  else {
    header.writeBigUInt64BE(BigInt(size), 128)
    header[124] = 0x80
  }
  header.write(`${seconds.toString(8).padStart(11, '0')}\0`, 136)
  header.write('        ', 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257, 'latin1')
  let sum = 0
  for (const byte of header) sum += byte
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

interface Entry {
  at: number
  size: number
}

export interface TarFile extends AsyncDisposable {
  entries: ReadonlyMap<string, Entry>
  read(entry: Entry): AsyncIterable<Uint8Array>
}

const PART_BYTES = 1024 * 1024

export async function openTar(path: string): Promise<TarFile> {
  await using stack = new AsyncDisposableStack()
  const file = stack.adopt(await open(path, 'r'), (handle) => handle.close())
  const entries = await entriesOf(file, path)
  const running = stack.move()
  return { entries, read: (entry) => partsOf(file, entry), [Symbol.asyncDispose]: () => running.disposeAsync() }
}

async function entriesOf(file: FileHandle, path: string): Promise<Map<string, Entry>> {
  const { size: length } = await file.stat()
  const entries = new Map<string, Entry>()
  const header = Buffer.alloc(BLOCK)
  for (let at = 0; at + BLOCK <= length;) {
    await file.read(header, 0, BLOCK, at)
    if (header.equals(ZEROS)) break
    if (header.toString('latin1', 257, 262) !== 'ustar')
      throw new BackupRefused(`${path} isn’t a Ukiyo backup, or it’s damaged`)
    const size = sizeIn(header)
    const name = header.toString('ascii', 0, 100).replace(/\0.*$/s, '')
    // A truncated entry doesn't count, so the backup is incomplete.
    if (!Number.isSafeInteger(size) || at + BLOCK + size > length) break
    entries.set(name, { at: at + BLOCK, size })
    at += BLOCK + size + paddingOf(size).length
  }
  return entries
}

function sizeIn(header: Buffer): number {
  if (header[124]! & 0x80) return Number(header.readBigUInt64BE(128))
  return Number.parseInt(header.toString('ascii', 124, 135), 8)
}

async function* partsOf(file: FileHandle, { at, size }: Entry): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < size;) {
    const buffer = Buffer.allocUnsafeSlow(Math.min(PART_BYTES, size - offset))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at + offset)
    if (bytesRead === 0) return
    offset += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
