import type { PassthroughFormat } from '../../passthrough/formats/format.ts'
import {
  openaiAudio,
  openaiCompletions,
  openaiEmbeddings,
  openaiImages,
  openaiModerations,
} from '../../passthrough/formats/untranslated.ts'
import type { Surface } from '../../request/surface.ts'
import { compatA } from './surface.ts'

const passthroughSurface = (format: PassthroughFormat): Surface => ({
  ...compatA,
  routes: { [format.path]: { POST: 'generate' } },
  format,
  shapes: ['openai-chat', 'openai-responses', 'ollama'],
  translates: false,
  foreign: () => false,
  usageOnRequest: format.usageOption,
})

export const compatAPassed: readonly Surface[] = [
  openaiEmbeddings,
  openaiModerations,
  openaiCompletions,
  ...openaiImages,
  ...openaiAudio,
].map(passthroughSurface)
