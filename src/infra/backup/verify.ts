import { createHash } from 'node:crypto'
import { eachAtOnce } from './at-once.ts'
import { BackupRefused } from './layout/refused.ts'
import { linesOf, packedPiece } from './layout/pieces.ts'
import { type Piece, piecesOf } from './layout/manifest.ts'
import type { Progress } from './progress.ts'
import type { Source } from './layout/source.ts'

export interface ListedBlob {
  sha256: string
  size: number
}

export const damagedBlob = (sha256: string): BackupRefused =>
  new BackupRefused(`the content of file ${sha256} in this backup is damaged. Create a new backup`)

export async function listedBlobs(source: Source): Promise<ListedBlob[]> {
  const { blobs } = source.manifest
  const missing = new Set(blobs.missing)
  const blobList: ListedBlob[] = []
  for await (const line of linesOf(source, blobs.lists)) {
    const [sha256 = '', size = ''] = line.split(' ')
    if (!/^[0-9a-f]{64}$/.test(sha256) || !/^\d+$/.test(size))
      throw new BackupRefused('the file list in this backup is damaged. Create a new backup')
    if (!missing.has(sha256)) blobList.push({ sha256, size: Number(size) })
  }
  return blobList
}

export async function verifyDatabase(source: Source, progress: Progress): Promise<ListedBlob[]> {
  const pieces = piecesOf(source.manifest)
  progress.begin('verifying', sizeOf(pieces))
  await eachAtOnce(pieces, 4, async (piece) => {
    await packedPiece(source, piece)
    progress.add(piece.bytes)
  })
  return listedBlobs(source)
}

const sizeOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { bytes }) => sum + bytes, 0)

export async function verify(source: Source, progress: Progress): Promise<ListedBlob[]> {
  const blobList = await verifyDatabase(source, progress)
  progress.begin('verifying files', source.manifest.blobs.bytes)
  await eachAtOnce(blobList, 4, async ({ sha256, size }) => {
    const hash = createHash('sha256')
    let length = 0
    for await (const part of source.readBlob(sha256)) {
      hash.update(part)
      length += part.length
      progress.add(part.length)
    }
    if (length !== size || hash.digest('hex') !== sha256) throw damagedBlob(sha256)
  })
  return blobList
}
