import type { MediaOffer } from '../../../model/offer.ts'
import { openaiVoices } from '../../../wire/openai-chat/voices.ts'

/** True if a client names an OpenAI voice, which its SDK requires, for a provider with other voices. */
export const isForeignVoice = ({ endpoint: { shape } }: MediaOffer, voice: string | null): boolean =>
  voice !== null && openaiVoices.has(voice) && shape !== 'openai-chat' && shape !== 'openai-responses'
