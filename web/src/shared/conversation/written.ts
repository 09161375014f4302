import type { Draft } from './thread/thread.ts'

type Media = Extract<Exclude<Draft['content'], string>[number], { type: 'image' | 'file' }>
export type Source = Media['source']

/** An attached file: uploaded to the drive, or sent inside the message in a temporary chat. */
export interface AttachedFile {
  key: number
  name: string
  isPicture: boolean
  /** The bytes, if the file was chosen in this window. */
  file?: File
  state: { is: 'coming' } | { is: 'there'; source: Source } | { is: 'failed'; why: string }
}

export interface WrittenMessage {
  text: string
  files: readonly AttachedFile[]
}
