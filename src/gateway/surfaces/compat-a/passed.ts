import type { Dialect } from '../../passthrough/formats/format.ts'
import {
  openaiAudio,
  openaiCompletions,
  openaiEmbeddings,
  openaiImages,
  openaiModerations,
} from '../../passthrough/formats/untranslated.ts'
import type { Surface } from '../surface.ts'
import { compatA } from './surface.ts'

/** A path whose bytes pass to who speaks OpenAI's shape, and to nobody else. */
const passed = (dialect: Dialect): Surface => ({
  ...compatA,
  routes: { [dialect.path]: { POST: 'generate' } },
  dialect,
  shapes: ['openai-chat', 'openai-responses', 'ollama'],
  translates: false,
  foreign: () => false,
  usageOnRequest: dialect.usageOption,
})

export const compatAPassed: readonly Surface[] = [
  openaiEmbeddings,
  openaiModerations,
  openaiCompletions,
  ...openaiImages,
  ...openaiAudio,
].map(passed)
