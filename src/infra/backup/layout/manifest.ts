import { createHash } from 'node:crypto'
import { BackupRefused } from './refused.ts'
import type { SealedKeys } from './root-keys.ts'
import { type Signature, readSignature, signatureOf } from './signature.ts'

/** The form of a backup that this program writes; it reads this and every older one. */
export const FORMAT = 1

/** A part of the database as it lies in a backup: compressed with Zstandard, whole in memory. */
export interface Piece {
  name: string
  bytes: number
  /** The hash of the compressed bytes, in hex. */
  sha256: string
}

export interface TableOfBackup {
  name: string
  columns: string[]
  rows: number
  /** The text form of COPY, in order. */
  pieces: Piece[]
}

/** The words of `manifest.json`, which is written when all else is there: what has none is not a backup. */
export interface Manifest {
  format: number
  product: 'ukiyo'
  /** The version of the program that wrote the backup. */
  version: string
  instance: string | null
  /** The moment of its content, ISO 8601. */
  at: string
  migrations: string[]
  tables: TableOfBackup[]
  sequences: { name: string; value: string; called: boolean }[]
  /** Work that waited in the queue, as lines of JSON. */
  jobs: Piece[]
  blobs: {
    count: number
    bytes: number
    /** Lines `sha256 size`. */
    lists: Piece[]
    /** Hashes whose bytes the store had not, or not as they were. */
    missing: string[]
  }
  key: {
    /** The root keys that sealed the backup's values, newest first. */
    ids: string[]
    /** The keys themselves, where they were asked for. */
    sealed: SealedKeys | null
  }
  /** The number of values that cannot be read without those keys, by `table.column`. */
  sealed_values: Record<string, number>
}

const sumOf = (words: string): string => createHash('sha256').update(words).digest('hex')

/** The manifest, the hash of its line below it, and the signature of that line; without a root key there is none. */
export function writeManifest(manifest: Manifest, rootKey: string | null): Buffer {
  const words = JSON.stringify(manifest)
  return Buffer.from(
    `${[words, sumOf(words), ...(rootKey === null ? [] : [signatureOf(words, rootKey)])].join('\n')}\n`,
  )
}

/** A manifest as it was read, with what tells who wrote it. */
export interface ReadManifest {
  manifest: Manifest
  /** The signed words. */
  words: string
  signature: Signature | null
}

export function readManifest(bytes: Buffer, from: string): ReadManifest {
  const [words = '', sum = '', signature = ''] = bytes.toString('utf8').split('\n')
  if (sumOf(words) !== sum) throw new BackupRefused(`the manifest of ${from} is damaged. Create a new backup`)
  const manifest = JSON.parse(words) as Manifest
  if (manifest.product !== 'ukiyo') throw new BackupRefused(`${from} isn’t a Ukiyo backup`)
  if (manifest.format > FORMAT)
    throw new BackupRefused(
      `${from} was created by Ukiyo ${manifest.version} in format ${manifest.format}, but this version reads only up to format ${FORMAT}. Restore it with that version or a newer one`,
    )
  for (const { name } of piecesOf(manifest))
    if (!isWithin(name)) throw new BackupRefused(`the manifest of ${from} refers to a file outside the backup`)
  return { manifest, words, signature: readSignature(signature, from) }
}

/** Everything beside the bytes of files. */
export const piecesOf = ({ tables, jobs, blobs }: Manifest): Piece[] => [
  ...tables.flatMap((table) => table.pieces),
  ...jobs,
  ...blobs.lists,
]

const isWithin = (name: string): boolean =>
  !name.includes('\0') && name.split(/[/\\]/).every((part) => part !== '' && part !== '.' && part !== '..')
