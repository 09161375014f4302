/** The differences from OpenAI in how a provider of its shape is asked for pictures. */
export interface ImageQuirks {
  /** How pictures to change are sent: a form at `/images/edits` (OpenAI's way), JSON there, one in `image_url` of an ordinary request, or not at all. */
  edits?: 'form' | 'json' | 'image_url' | 'none'
  /** The words for a size; `none`: it has a ratio at best. */
  size?: 'size' | 'width and height' | 'none'
  /** Fields of the contract that it takes under the same name, beside those that every field of these stands for. */
  takes?: readonly ('aspect_ratio' | 'seed' | 'negative_prompt' | 'quality' | 'output_format' | 'background')[]
  masks?: boolean
  /** The word of `response_format` for pictures within the answer. */
  base64?: string
  /** Pictures that one request may ask for. */
  most?: number
  /** The provider is asked at `/workflows/<model>/text_to_image`, which answers the picture itself. */
  workflows?: true
}

/** The differences from OpenAI in how a provider is asked to speak. */
export interface SpeechQuirks {
  /** The formats that it makes; the first stands in for the others. */
  formats?: readonly ('mp3' | 'wav' | 'opus' | 'aac' | 'flac' | 'pcm')[]
  /** The voice where a request names none; null: none is sent, and the server chooses. */
  voice?: string | null
}

/** The differences from OpenAI in how a provider is asked to transcribe. */
export interface TranscriptionQuirks {
  /** Below its address. */
  path?: string
  /** Serves one model, and takes no name of it. */
  unnamedModel?: true
}

/**
 * The differences from OpenAI in how a provider of its shape is asked for media. Absent: none; null: it has no such
 * media.
 */
export interface MediaQuirks {
  image?: ImageQuirks | null
  speech?: SpeechQuirks | null
  transcription?: TranscriptionQuirks | null
  /** The jobs of `/videos`. */
  video?: null
}
