/** Facts about a media file, read from its bytes and never from its name or declared type. */
export interface MediaFacts {
  kind: 'image' | 'video' | 'audio'
  type: string
  extension: string
  sizeBytes: number
  /** Pixels of an image or video, otherwise null. */
  width: number | null
  height: number | null
  durationSeconds: number | null
}

/** Audio formats of the API. `pcm`: 16-bit little-endian mono without a header; `opus`: in Ogg; `aac`: in ADTS. */
export type SoundFormat = 'mp3' | 'wav' | 'opus' | 'aac' | 'flac' | 'pcm'

/** A stream of raw samples: 16-bit little-endian mono. Parts may split a sample. */
export interface Pcm {
  sampleRate: number
  bytes: AsyncIterable<Uint8Array>
}
