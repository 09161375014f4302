/** Facts about a media file, read from its bytes and never from its name or declared type. */
export interface MediaFacts {
  kind: 'image' | 'video' | 'audio'
  /** MIME type. */
  type: string
  /** File extension without the dot. */
  extension: string
  sizeBytes: number
  /** Pixels of an image or video, otherwise null. */
  width: number | null
  height: number | null
  /** Duration of audio or video. Null: unknown. */
  durationSeconds: number | null
}

/** Audio formats of the API. `pcm`: 16-bit little-endian mono without a header; `opus`: in Ogg; `aac`: in ADTS. */
export type SoundFormat = 'mp3' | 'wav' | 'opus' | 'aac' | 'flac' | 'pcm'

/** A stream of raw samples: 16-bit little-endian mono. Parts may split a sample. */
export interface Pcm {
  /** Hz. */
  sampleRate: number
  bytes: AsyncIterable<Uint8Array>
}
