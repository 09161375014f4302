/** The things that the media routes make or read (contract, part 16). */
export type MediaKind = 'image' | 'video' | 'speech' | 'transcription'

const mediaKinds: ReadonlySet<string> = new Set<MediaKind>(['image', 'video', 'speech', 'transcription'])

export const isMediaKind = (kind: string): kind is MediaKind => mediaKinds.has(kind)

/** Null and empty everywhere: in no source. */
export interface ImageAbilities {
  kind: 'image'
  /** `1024x1024`, as `size` takes them. */
  sizes: readonly string[]
  /** Pictures of one request to the vendor. */
  max_n: number | null
  /** Changes pictures that it is given. */
  edits: boolean | null
  masks: boolean | null
  tier: 'fast' | 'standard' | 'premium' | null
}

export const videoModes = ['text_to_video', 'image_to_video', 'frames', 'references', 'video_to_video'] as const
export type VideoMode = (typeof videoModes)[number]

export interface VideoAbilities {
  kind: 'video'
  modes: readonly VideoMode[]
  /** `720p`, `1080p`, `4k`. */
  resolutions: readonly string[]
  /** The lengths that can be asked for. */
  seconds: readonly number[]
  /** Whether the video has sound. */
  audio: boolean | null
}

export interface AudioAbilities {
  kind: 'speech' | 'transcription'
  /** The formats that speech makes, or transcription reads. */
  formats: readonly string[]
  /** BCP 47. */
  languages: readonly string[]
  /** Answers while it works. */
  streams: boolean | null
  /** Unicode code points of one request to the vendor. */
  max_characters: number | null
}

export type MediaAbilities = ImageAbilities | VideoAbilities | AudioAbilities

/** The abilities of a model of which only the kind is known. */
export function unknownAbilities(kind: MediaKind): MediaAbilities {
  if (kind === 'image') return { kind, sizes: [], max_n: null, edits: null, masks: null, tier: null }
  if (kind === 'video') return { kind, modes: [], resolutions: [], seconds: [], audio: null }
  return { kind, formats: [], languages: [], streams: null, max_characters: null }
}
