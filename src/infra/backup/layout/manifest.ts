import { createHash } from 'node:crypto'
import { BackupRefused } from './refused.ts'
import type { SealedKeys } from './root-keys.ts'
import { type Signature, readSignature, signatureOf } from './signature.ts'

/** The format version written. This and all older versions are readable. */
export const FORMAT = 1

/** A part of the database in a backup: Zstandard-compressed, small enough for memory. */
export interface Piece {
  name: string
  bytes: number
  sha256: string
}

export interface TableOfBackup {
  name: string
  columns: string[]
  rows: number
  /** COPY text format, in order. */
  pieces: Piece[]
}

/** `manifest.json`, written last: without it, a folder isn't a backup. */
export interface Manifest {
  format: number
  product: 'ukiyo'
  /** The Ukiyo version that wrote the backup. */
  version: string
  instance: string | null
  at: string
  migrations: string[]
  tables: TableOfBackup[]
  sequences: { name: string; value: string; called: boolean }[]
  /** Waiting jobs, as JSON lines. */
  jobs: Piece[]
  blobs: {
    count: number
    bytes: number
    /** Lines of `sha256 size`. */
    lists: Piece[]
    /** Hashes of blobs that were missing or damaged in the store. */
    missing: string[]
  }
  key: {
    ids: string[]
    /** The keys themselves, if included. */
    sealed: SealedKeys | null
  }
  /** The number of values that need those keys, by `table.column`. */
  sealed_values: Record<string, number>
}

const sumOf = (words: string): string => createHash('sha256').update(words).digest('hex')

/** The manifest, its hash on the next line, and a signature of that line if there is a root key. */
export function writeManifest(manifest: Manifest, rootKey: string | null): Buffer {
  const words = JSON.stringify(manifest)
  return Buffer.from(
    `${[words, sumOf(words), ...(rootKey === null ? [] : [signatureOf(words, rootKey)])].join('\n')}\n`,
  )
}

export interface ReadManifest {
  manifest: Manifest
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

export const piecesOf = ({ tables, jobs, blobs }: Manifest): Piece[] => [
  ...tables.flatMap((table) => table.pieces),
  ...jobs,
  ...blobs.lists,
]

const isWithin = (name: string): boolean =>
  !name.includes('\0') && name.split(/[/\\]/).every((part) => part !== '' && part !== '.' && part !== '..')
