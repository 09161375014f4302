export interface ImageQuirks {
  /**
   * How images to edit are sent: a form at `/images/edits` (OpenAI's way), JSON there, one in `image_url` of an
   * ordinary request, or not at all.
   */
  edits?: 'form' | 'json' | 'image_url' | 'none'
  size?: 'size' | 'width and height' | 'none'
  /** Contract fields that it accepts under the same name, in addition to those every provider here has. */
  takes?: readonly ('aspect_ratio' | 'seed' | 'negative_prompt' | 'quality' | 'output_format' | 'background')[]
  masks?: boolean
  base64?: string
  most?: number
  /** The provider is called at `/workflows/<model>/text_to_image`, which returns the image itself. */
  workflows?: true
}

export interface SpeechQuirks {
  /** Supported formats; the first replaces all others. */
  formats?: readonly ('mp3' | 'wav' | 'opus' | 'aac' | 'flac' | 'pcm')[]
  /** The default voice; null: none is sent, and the server chooses. */
  voice?: string | null
}

export interface TranscriptionQuirks {
  path?: string
  unnamedModel?: true
}

/** How an OpenAI-shaped provider's media requests differ from OpenAI's. Absent: not at all; null: not supported. */
export interface MediaQuirks {
  image?: ImageQuirks | null
  speech?: SpeechQuirks | null
  transcription?: TranscriptionQuirks | null
  video?: null
}
