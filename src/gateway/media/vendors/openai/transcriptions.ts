import { isWord, type Json, listOf, objectOf } from '../../../model/json.ts'
import type { TranscriptionQuirks } from '../../../providers/media-quirks.ts'
import { MAKING_MS, SHORT_BYTES, badAnswer, jsonOf } from '../../answers.ts'
import type { Immediate, Spoken, TranscriptionRequest } from '../../adapter.ts'
import { formBody } from '../../request-body.ts'
import { baseLanguage, formOptions, lossesIn } from '../../request-fields.ts'
import { languageTag } from '../../transcript/transcripts.ts'
import { tokensIn } from './usage.ts'

/**
 * The response format that a model can be asked for: OpenAI's API description 2.3.0, `response_format` of
 * transcriptions.
 */
function formatFor(model: string): 'verbose_json' | 'json' | 'diarized_json' {
  if (/transcribe-diarize/.test(model)) return 'diarized_json'
  // Whisper tells times, under whatever name others serve it; OpenAI's own later ones tell the text alone.
  return /^gpt-.*transcribe/.test(model) ? 'json' : 'verbose_json'
}

/** Sound as OpenAI reads it. The file is read while it is sent. */
export const openaiTranscriptions = ({ path, unnamedModel }: TranscriptionQuirks): Immediate<TranscriptionRequest> => ({
  how: 'immediate',
  async run(wire, request) {
    const { model, sound, language, prompt, timestamps, providerOptions } = request
    const format = formatFor(model)
    const diarized = format === 'diarized_json'
    const times = format === 'verbose_json' && timestamps !== 'none'
    const fields = [
      ['model', unnamedModel ? null : model],
      ['language', baseLanguage(language)],
      ['prompt', diarized ? null : prompt],
      ['response_format', format],
      ['timestamp_granularities', times ? ['segment', ...(timestamps === 'word' ? ['word'] : [])] : null],
      // Needed for more than 30 s of sound.
      ['chunking_strategy', diarized && providerOptions['chunking_strategy'] === undefined ? 'auto' : null],
    ] as const
    const ours = [...fields.map(([name]) => name), 'file', 'stream'].filter((name) => name !== 'chunking_strategy')
    const answer = await wire.ask({
      method: 'POST',
      path: path ?? '/audio/transcriptions',
      ...formBody([...fields, ...formOptions(providerOptions, ours), ['file', sound]]),
      mostBytes: 16 * SHORT_BYTES,
      withinMs: MAKING_MS,
    })
    const said = await jsonOf(answer)
    if (typeof said['text'] !== 'string') throw badAnswer('The provider returned no text.')
    const segments = listOf(said['segments']).map((row) => spoken(objectOf(row), 'text'))
    const words = wordsIn(said)
    const losses = [
      ...(diarized ? lossesIn(request, 'prompt') : lossesIn(request, 'speakers')),
      ...(segments.length > 0 || words.length > 0 ? [] : lossesIn(request, 'timestamps')),
      ...(timestamps === 'word' && words.length === 0 && segments.length > 0 ? ['timestamps'] : []),
    ]
    return {
      kind: 'transcript',
      transcript: {
        text: said['text'].trim(),
        language: languageTag(said['language']) ?? language,
        durationSeconds: typeof said['duration'] === 'number' ? said['duration'] : null,
        segments,
        words: timestamps === 'word' && words.length > 0 ? words : null,
      },
      units: tokensIn(said['usage']),
      losses,
    }
  },
})

/** Words stand beside the segments; whisper.cpp puts them into each. */
function wordsIn(said: Json): Spoken[] {
  const own = listOf(said['words']).map((row) => spoken(objectOf(row), 'word'))
  if (own.length > 0) return own
  return listOf(said['segments']).flatMap((row) =>
    listOf(objectOf(row)['words']).map((word) => spoken(objectOf(word), 'word')),
  )
}

const spoken = (row: Json, text: 'text' | 'word'): Spoken => ({
  startSeconds: typeof row['start'] === 'number' ? row['start'] : 0,
  endSeconds: typeof row['end'] === 'number' ? row['end'] : 0,
  text: typeof row[text] === 'string' ? row[text].trim() : '',
  speaker: isWord(row['speaker']) ? row['speaker'] : null,
})
