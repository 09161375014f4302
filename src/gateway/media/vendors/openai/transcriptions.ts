import { isWord, type Json, listOf, objectOf } from '../../../model/json.ts'
import type { TranscriptionQuirks } from '../../../providers/media-quirks.ts'
import { MAKING_MS, SHORT_BYTES, badAnswer, jsonOf } from '../../answers.ts'
import type { Immediate, TranscriptSpan, TranscriptionRequest } from '../../adapter.ts'
import { formBody } from '../../request-body.ts'
import { baseLanguage, formOptions, lossesIn } from '../../request-fields.ts'
import { languageTag } from '../../transcript/transcripts.ts'
import { tokensIn } from './usage.ts'

/** The response format that a model supports: OpenAI's API description 2.3.0, `response_format` of transcriptions. */
function formatFor(model: string): 'verbose_json' | 'json' | 'diarized_json' {
  if (/transcribe-diarize/.test(model)) return 'diarized_json'
  // Whisper returns timestamps, also under other names; OpenAI's later models only return text.
  return /^gpt-.*transcribe/.test(model) ? 'json' : 'verbose_json'
}

export const openaiTranscriptions = ({ path, unnamedModel }: TranscriptionQuirks): Immediate<TranscriptionRequest> => ({
  how: 'immediate',
  async run(wire, request) {
    const { model, sound, language, prompt, timestamps, providerOptions } = request
    const format = formatFor(model)
    const isDiarized = format === 'diarized_json'
    const times = format === 'verbose_json' && timestamps !== 'none'
    const fields = [
      ['model', unnamedModel ? null : model],
      ['language', baseLanguage(language)],
      ['prompt', isDiarized ? null : prompt],
      ['response_format', format],
      ['timestamp_granularities', times ? ['segment', ...(timestamps === 'word' ? ['word'] : [])] : null],
      // Required for audio longer than 30 s.
      ['chunking_strategy', isDiarized && providerOptions['chunking_strategy'] === undefined ? 'auto' : null],
    ] as const
    const ours = [...fields.map(([name]) => name), 'file', 'stream'].filter((name) => name !== 'chunking_strategy')
    const answer = await wire.ask({
      method: 'POST',
      path: path ?? '/audio/transcriptions',
      ...formBody([...fields, ...formOptions(providerOptions, ours), ['file', sound]]),
      mostBytes: 16 * SHORT_BYTES,
      withinMs: MAKING_MS,
    })
    const transcript = await jsonOf(answer)
    if (typeof transcript['text'] !== 'string') throw badAnswer('The provider returned no text.')
    const segments = listOf(transcript['segments']).map((row) => segmentOf(objectOf(row), 'text'))
    const words = wordsIn(transcript)
    const losses = [
      ...(isDiarized ? lossesIn(request, 'prompt') : lossesIn(request, 'speakers')),
      ...(segments.length > 0 || words.length > 0 ? [] : lossesIn(request, 'timestamps')),
      ...(timestamps === 'word' && words.length === 0 && segments.length > 0 ? ['timestamps'] : []),
    ]
    return {
      kind: 'transcript',
      transcript: {
        text: transcript['text'].trim(),
        language: languageTag(transcript['language']) ?? language,
        durationSeconds: typeof transcript['duration'] === 'number' ? transcript['duration'] : null,
        segments,
        words: timestamps === 'word' && words.length > 0 ? words : null,
      },
      units: tokensIn(transcript['usage']),
      losses,
    }
  },
})

/** Words are beside the segments; whisper.cpp puts them into each. */
function wordsIn(transcript: Json): TranscriptSpan[] {
  const own = listOf(transcript['words']).map((row) => segmentOf(objectOf(row), 'word'))
  if (own.length > 0) return own
  return listOf(transcript['segments']).flatMap((row) =>
    listOf(objectOf(row)['words']).map((word) => segmentOf(objectOf(word), 'word')),
  )
}

const segmentOf = (row: Json, text: 'text' | 'word'): TranscriptSpan => ({
  startSeconds: typeof row['start'] === 'number' ? row['start'] : 0,
  endSeconds: typeof row['end'] === 'number' ? row['end'] : 0,
  text: typeof row[text] === 'string' ? row[text].trim() : '',
  speaker: isWord(row['speaker']) ? row['speaker'] : null,
})
