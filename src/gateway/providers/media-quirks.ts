/** How a provider of OpenAI's shape is asked for pictures, where not as OpenAI. */
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
  /** Asked at `/workflows/<model>/text_to_image`, which answers the picture itself. */
  workflows?: true
}

/** How it is asked to speak, where not as OpenAI. */
export interface SpeechQuirks {
  /** What it makes; the first stands in for what it doesn't. */
  formats?: readonly ('mp3' | 'wav' | 'opus' | 'aac' | 'flac' | 'pcm')[]
  /** Who speaks where a request names nobody; null: nobody is named, and the server chooses. */
  voice?: string | null
}

/** How it is asked to read sound, where not as OpenAI. */
export interface TranscriptionQuirks {
  /** Below its address. */
  path?: string
  /** Serves one model, and takes no name of it. */
  unnamedModel?: true
}

/** How a provider of OpenAI's shape is asked for media. Absent: as OpenAI; null: it has none of it. */
export interface MediaQuirks {
  image?: ImageQuirks | null
  speech?: SpeechQuirks | null
  transcription?: TranscriptionQuirks | null
  /** The jobs of `/videos`. */
  video?: null
}
