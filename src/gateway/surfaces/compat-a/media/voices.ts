import type { MediaOffer } from '../../../model/offer.ts'
import { openaiVoices } from '../../../wire/openai-chat/voices.ts'

/** OpenAI's SDK requires a voice, which other providers don't have. */
export const isForeignVoice = ({ endpoint: { shape } }: MediaOffer, voice: string | null): boolean =>
  voice !== null && openaiVoices.has(voice) && shape !== 'openai-chat' && shape !== 'openai-responses'
