import { extname } from 'node:path'

export interface MadeFile {
  name: string
  path: string
  mime_type: string
  size_bytes: number
  width: number | null
  height: number | null
  duration_seconds: number | null
  url: string
}

export interface Made {
  kind: 'image' | 'video' | 'speech' | 'transcription'
  model: string
  cost_usd: number | null
  simulated: boolean
  losses: string[]
  files: MadeFile[]
  text?: string
  subtitles?: string | null
}

const kinds = new Set(['image', 'video', 'speech', 'transcription'])

/** The generated media in a response or in a finished operation's result; null without any. */
export function madeIn(data: unknown): Made | null {
  const media = ((data as { result?: unknown } | null)?.result ?? data) as Partial<Made> | null
  return media && kinds.has(media.kind ?? '') && Array.isArray(media.files) ? (media as Made) : null
}

const examples: Readonly<Record<string, string>> = {
  'inference.images': 'picture.png',
  'inference.videos': 'film.mp4',
  'inference.speech': 'speech.mp3',
  'inference.speech_stream': 'speech.mp3',
  'inference.transcriptions': 'words.srt',
}
export const fileOf = (name: string): string | undefined => examples[name]

/** The format field of each endpoint, and its values by file extension. */
const formats: Readonly<Record<string, { field: string; endings: Readonly<Record<string, string>> }>> = {
  'inference.images': {
    field: 'output_format',
    endings: { '.png': 'png', '.jpg': 'jpeg', '.jpeg': 'jpeg', '.webp': 'webp' },
  },
  'inference.speech': {
    field: 'format',
    endings: {
      '.mp3': 'mp3',
      '.wav': 'wav',
      '.opus': 'opus',
      '.ogg': 'opus',
      '.aac': 'aac',
      '.flac': 'flac',
      '.pcm': 'pcm',
    },
  },
  'inference.speech_stream': {
    field: 'format',
    endings: { '.mp3': 'mp3', '.opus': 'opus', '.ogg': 'opus', '.pcm': 'pcm' },
  },
  'inference.transcriptions': { field: 'subtitles', endings: { '.srt': 'srt', '.vtt': 'vtt' } },
}

/** Sets the format from the extension of `-o`, unless the format is set. */
export function withFormat(
  name: string,
  input: Record<string, unknown>,
  output: string | undefined,
): Record<string, unknown> {
  const { field, endings } = formats[name] ?? {}
  const format = output === undefined ? undefined : endings?.[extname(output).toLowerCase()]
  return field === undefined || format === undefined || field in input ? input : { ...input, [field]: format }
}

/** File names for several results: `cat.png`, `cat-2.png`, … */
export function nameOf(output: string, index: number): string {
  if (index === 0) return output
  const ending = extname(output)
  return `${output.slice(0, output.length - ending.length)}-${index + 1}${ending}`
}
