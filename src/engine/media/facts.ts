/** What a file of media is, read from its bytes and never from its name or a declared type. */
export interface MediaFacts {
  kind: 'image' | 'video' | 'audio'
  /** MIME type. */
  type: string
  /** Without the dot. */
  extension: string
  sizeBytes: number
  /** Of pictures and videos; else null. */
  width: number | null
  height: number | null
  /** Of sound and videos; null: not known. */
  durationSeconds: number | null
}
