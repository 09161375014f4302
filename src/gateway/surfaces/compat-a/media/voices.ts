import type { MediaOffer } from '../../../model/offer.ts'

/** OpenAI's own voices: its API description 2.3.0, VoiceIdsShared. */
const voices: ReadonlySet<string> = new Set([
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'fable',
  'onyx',
  'nova',
  'sage',
  'shimmer',
  'verse',
  'marin',
  'cedar',
])

/** Whether a client names a voice of OpenAI's because its SDK wants one, to a provider that has others. */
export const isForeignVoice = ({ endpoint: { shape } }: MediaOffer, voice: string | null): boolean =>
  voice !== null && voices.has(voice) && shape !== 'openai-chat' && shape !== 'openai-responses'
