import type { Transcript } from '../../../media/adapter.ts'
import { subtitlesOf } from '../../../media/transcript/subtitles.ts'
import type { TranscriptAnswer } from './read-request.ts'

const names = new Intl.DisplayNames(['en'], { type: 'language' })

/** Whisper names languages in lower-case English. */
function languageName(tag: string | null): string {
  if (tag === null) return 'unknown'
  try {
    return (names.of(tag) ?? tag).toLowerCase()
  } catch {
    return tag
  }
}

const usageOf = ({ durationSeconds }: Transcript): object =>
  durationSeconds === null ? {} : { usage: { type: 'duration', seconds: Math.ceil(durationSeconds) } }

/** OpenAI's API description 2.3.0. */
export function writeTranscript(
  transcript: Transcript,
  format: TranscriptAnswer['format'],
): { type: string; body: string } {
  const json = (body: object) => ({ type: 'application/json', body: JSON.stringify(body) })
  const { text, language, durationSeconds, segments, words } = transcript
  const duration = durationSeconds ?? segments.at(-1)?.endSeconds ?? 0
  switch (format) {
    case 'text':
      return { type: 'text/plain; charset=utf-8', body: `${text}\n` }
    case 'srt':
      return { type: 'application/x-subrip; charset=utf-8', body: subtitlesOf(segments, 'srt') }
    case 'vtt':
      return { type: 'text/vtt; charset=utf-8', body: subtitlesOf(segments, 'vtt') }
    case 'json':
      return json({ text, ...usageOf(transcript) })
    case 'verbose_json':
      return json({
        task: 'transcribe',
        language: languageName(language),
        duration,
        text,
        // Other models don't report Whisper's own measures.
        segments: segments.map((segment, id) => ({
          id,
          seek: 0,
          start: segment.startSeconds,
          end: segment.endSeconds,
          text: segment.text,
          tokens: [],
          temperature: 0,
          avg_logprob: 0,
          compression_ratio: 0,
          no_speech_prob: 0,
        })),
        ...(words !== null && {
          words: words.map((word) => ({ word: word.text, start: word.startSeconds, end: word.endSeconds })),
        }),
        ...usageOf(transcript),
      })
    case 'diarized_json':
      return json({
        task: 'transcribe',
        duration,
        text,
        segments: segments.map((_, index) => segmentEvent(transcript, index)),
        ...usageOf(transcript),
      })
  }
}

const segmentEvent = ({ segments }: Transcript, index: number): object => {
  const { startSeconds, endSeconds, text, speaker } = segments[index]!
  return {
    type: 'transcript.text.segment',
    id: `seg_${index}`,
    start: startSeconds,
    end: endSeconds,
    text,
    speaker: speaker ?? 'A',
  }
}

export function* transcriptEvents(transcript: Transcript, format: TranscriptAnswer['format']): Generator<object> {
  const { segments, text } = transcript
  for (const [index, segment] of segments.entries()) {
    if (format === 'diarized_json') yield segmentEvent(transcript, index)
    yield { type: 'transcript.text.delta', delta: index === 0 ? segment.text : ` ${segment.text}` }
  }
  if (segments.length === 0 && text !== '') yield { type: 'transcript.text.delta', delta: text }
  yield { type: 'transcript.text.done', text, ...usageOf(transcript) }
}
