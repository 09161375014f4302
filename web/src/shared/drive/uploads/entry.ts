import type { Place } from '../files.ts'

export type OnConflict = 'fail' | 'rename' | 'version'

export type UploadState =
  | { is: 'waiting' }
  | { is: 'going' }
  | { is: 'paused' }
  /** The connection was lost; the upload resumes automatically. */
  | { is: 'cut' }
  /** The name is taken; the person decides. */
  | { is: 'conflict' }
  | { is: 'failed'; why: string }
  /** The page was reloaded, and the browser no longer has the file. */
  | { is: 'lost' }
  | { is: 'done'; fileId: string | null }

export interface Entry {
  key: string
  name: string
  size: number
  type: string
  lastModified: number
  place: Place
  folders: readonly string[]
  into: string
  onConflict: OnConflict
  url: string | null
  sent: number
  rate: number | null
  state: UploadState
}

export const isOpen = ({ state: { is } }: Entry): boolean => is !== 'done'
export const isMoving = ({ state: { is } }: Entry): boolean => is === 'waiting' || is === 'going' || is === 'cut'

export interface ChosenFile {
  file: File
  folders: readonly string[]
}
