import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { BackupRefused } from './refused.ts'
import type { Piece } from './manifest.ts'
import type { Source } from './source.ts'
import type { Target } from './target.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

const PIECE_BYTES = 4 << 20
/** Backups never write larger pieces. A single row may exceed the usual size. */
const MAX_BYTES = 1 << 30

/** Compresses one piece while reading the next. */
export async function writePieces(
  target: Target,
  name: string,
  source: AsyncIterable<Uint8Array>,
  ending = 'copy',
): Promise<Piece[]> {
  const pieces: Piece[] = []
  let parts: Uint8Array[] = []
  let bytes = 0
  let writing: Promise<void> = Promise.resolve()
  const flush = async (): Promise<void> => {
    const whole = Buffer.concat(parts)
    parts = []
    bytes = 0
    await writing
    writing = putPiece(target, `${name}.${pieces.length + 1}.${ending}.zst`, whole, pieces)
    writing.catch(() => {})
  }
  for await (const part of source) {
    parts.push(part)
    bytes += part.length
    if (bytes >= PIECE_BYTES) await flush()
  }
  if (bytes > 0) await flush()
  await writing
  return pieces
}

async function putPiece(target: Target, name: string, whole: Buffer, pieces: Piece[]): Promise<void> {
  const piece = { name, bytes: 0, sha256: '' }
  pieces.push(piece)
  const frame = await compress(whole, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  piece.bytes = frame.length
  piece.sha256 = createHash('sha256').update(frame).digest('hex')
  await target.put(name, frame)
}

export async function* readPieces(source: Source, pieces: readonly Piece[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield await decompress(await packedPiece(source, piece), { maxOutputLength: MAX_BYTES })
}

export async function packedPiece(source: Source, { name, bytes, sha256 }: Piece): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of source.read(name)) {
    length += part.length
    if (length > bytes) break
    parts.push(part)
  }
  const frame = Buffer.concat(parts)
  if (createHash('sha256').update(frame).digest('hex') !== sha256)
    throw new BackupRefused(`${name} in this backup is damaged. Create a new backup`)
  return frame
}

export async function* linesOf(source: Source, pieces: readonly Piece[]): AsyncGenerator<string> {
  let rest = ''
  for await (const part of readPieces(source, pieces)) {
    const lines = (rest + part.toString('utf8')).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}
