import type { Place } from '../queries.ts'

export type OnConflict = 'fail' | 'rename' | 'version'

export type UploadState =
  | { is: 'waiting' }
  | { is: 'going' }
  | { is: 'paused' }
  /** The connection is gone: it goes on by itself. */
  | { is: 'cut' }
  /** The name is taken, and the person decides. */
  | { is: 'conflict' }
  | { is: 'failed'; why: string }
  /** The page was loaded anew, and the browser does not have the file any more. */
  | { is: 'lost' }
  | { is: 'done'; fileId: string | null }

/** A file on its way into the drive. */
export interface Entry {
  key: string
  name: string
  size: number
  type: string
  lastModified: number
  /** The goal: a place, and folders below it that are made on the way. */
  place: Place
  folders: readonly string[]
  /** The name of the place, for people. */
  into: string
  onConflict: OnConflict
  /** The address of the upload that was begun, on this server. */
  url: string | null
  sent: number
  /** Bytes per second of late; null while that is not known. */
  rate: number | null
  state: UploadState
}

export const isOpen = ({ state: { is } }: Entry): boolean => is !== 'done'
export const isMoving = ({ state: { is } }: Entry): boolean => is === 'waiting' || is === 'going' || is === 'cut'

/** A file and the folders that it was dropped in. */
export interface Chosen {
  file: File
  folders: readonly string[]
}
