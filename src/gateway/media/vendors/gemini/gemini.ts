import type { MediaAdapter } from '../../adapter.ts'
import { geminiImages } from './images.ts'
import { geminiSpeech } from './speech.ts'
import { geminiVideos } from './videos.ts'

export const gemini: MediaAdapter = {
  mostImages: () => 1,
  image: geminiImages,
  speech: geminiSpeech,
  video: geminiVideos,
}
