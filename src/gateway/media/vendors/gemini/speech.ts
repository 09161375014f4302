import { WHOLE_BYTES, inOne } from '../../answers.ts'
import type { Immediate, SoundFormat, SpeechRequest } from '../../adapter.ts'
import { jsonBody } from '../../request-body.ts'
import { charactersOf, lossesIn, withOptions } from '../../request-fields.ts'
import { generateContent } from './content.ts'

/** Default voice and sample rate: `@ai-sdk/google` 4.0.121, google-speech-model.ts. */
const VOICE = 'Kore'
const RATE = 24_000
/** Older models take the style in the text itself: the same file. */
const toldInText = /^gemini-(?:2\.5|3\.1)-/

export const geminiSpeech: Immediate<SpeechRequest> = {
  how: 'immediate',
  async run(wire, request) {
    const { model, input, voice, language, instructions, format, providerOptions } = request
    const inText = toldInText.test(model)
    const text = inText && instructions !== null ? `${instructions}: ${input}` : input
    const mimeType = format === 'wav' ? 'AUDIO_WAV' : 'AUDIO_L16'
    const { held: inlineData, units } = await generateContent(
      wire,
      model,
      jsonBody(() =>
        withOptions(providerOptions, {
          contents: [
            {
              role: 'user',
              parts: [{ text, ...(!inText && instructions !== null && { speechMetadata: { style: instructions } }) }],
            },
          ],
          generationConfig: {
            responseModalities: ['AUDIO'],
            speechConfig: {
              voiceConfig: { prebuiltVoiceConfig: { voiceName: voice ?? VOICE } },
              ...(language !== null && { languageCode: language }),
            },
            ...(!inText && { responseFormat: { audio: { mimeType } } }),
          },
        }),
      ),
      WHOLE_BYTES,
    )
    const { type, base64 } = inlineData[0]!
    const audioFormat = formatOf(type)
    return {
      kind: 'sound',
      sound: {
        format: audioFormat,
        sampleRate: audioFormat === 'pcm' ? Number(/rate=(\d+)/.exec(type)?.[1] ?? RATE) : null,
        bytes: inOne(Buffer.from(base64, 'base64')),
        units: () => ({ characters: charactersOf(input), ...units }),
      },
      losses: lossesIn(request, 'speed'),
    }
  },
}

const formatOf = (type: string): SoundFormat => (/wav/i.test(type) ? 'wav' : /mpeg|mp3/i.test(type) ? 'mp3' : 'pcm')
