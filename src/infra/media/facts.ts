/** The facts about a media file, read from its bytes and never from its name or a declared type. */
export interface MediaFacts {
  kind: 'image' | 'video' | 'audio'
  /** MIME type. */
  type: string
  /** The file name's extension without the dot. */
  extension: string
  sizeBytes: number
  /** Pixels of a picture or video; else null. */
  width: number | null
  height: number | null
  /** The length of sound or video; null: not known. */
  durationSeconds: number | null
}

/** Formats of sound, in the words of the API. `pcm`: 16 bit, little-endian, mono, without any head; `opus`: in Ogg; `aac`: in ADTS. */
export type SoundFormat = 'mp3' | 'wav' | 'opus' | 'aac' | 'flac' | 'pcm'

/** Plain samples as they come: 16 bit, little-endian, mono. Parts may end within a sample. */
export interface Pcm {
  /** The sample rate in Hz. */
  sampleRate: number
  bytes: AsyncIterable<Uint8Array>
}
