/** Kinds of media routes (contract, part 16). */
export type MediaKind = 'image' | 'video' | 'speech' | 'transcription'

const mediaKinds: ReadonlySet<string> = new Set<MediaKind>(['image', 'video', 'speech', 'transcription'])

export const isMediaKind = (kind: string): kind is MediaKind => mediaKinds.has(kind)

/** Null and empty everywhere: unknown. */
export interface ImageAbilities {
  kind: 'image'
  /** `1024x1024`, as in `size`. */
  sizes: readonly string[]
  /** Images per vendor request. */
  max_n: number | null
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
  seconds: readonly number[]
  audio: boolean | null
}

export interface AudioAbilities {
  kind: 'speech' | 'transcription'
  formats: readonly string[]
  /** BCP 47. */
  languages: readonly string[]
  streams: boolean | null
  /** Unicode code points per vendor request. */
  max_characters: number | null
}

export type MediaAbilities = ImageAbilities | VideoAbilities | AudioAbilities

export function unknownAbilities(kind: MediaKind): MediaAbilities {
  if (kind === 'image') return { kind, sizes: [], max_n: null, edits: null, masks: null, tier: null }
  if (kind === 'video') return { kind, modes: [], resolutions: [], seconds: [], audio: null }
  return { kind, formats: [], languages: [], streams: null, max_characters: null }
}
