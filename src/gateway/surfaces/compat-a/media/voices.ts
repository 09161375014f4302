import type { MediaOffer } from '../../../model/offer.ts'
import { openaiVoices } from '../../../wire/openai-chat/voices.ts'

/** Whether a client names a voice of OpenAI's because its SDK wants one, to a provider that has others. */
export const isForeignVoice = ({ endpoint: { shape } }: MediaOffer, voice: string | null): boolean =>
  voice !== null && openaiVoices.has(voice) && shape !== 'openai-chat' && shape !== 'openai-responses'
