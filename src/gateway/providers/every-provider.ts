import { anthropic } from './clouds/anthropic.ts'
import { azure } from './clouds/azure.ts'
import { bedrock } from './clouds/bedrock.ts'
import { cerebras } from './clouds/cerebras.ts'
import { cohere } from './clouds/cohere.ts'
import { deepseek } from './clouds/deepseek.ts'
import { fireworks } from './clouds/fireworks.ts'
import { google } from './clouds/google.ts'
import { groq } from './clouds/groq.ts'
import { mistral } from './clouds/mistral.ts'
import { moonshotai } from './clouds/moonshotai.ts'
import { openai } from './clouds/openai.ts'
import { openrouter } from './clouds/openrouter.ts'
import { together } from './clouds/together.ts'
import { vertex } from './clouds/vertex.ts'
import { xai } from './clouds/xai.ts'
import { kokoroFastApi } from './local/kokoro-fastapi.ts'
import { llamaCpp } from './local/llama-cpp.ts'
import { localAi } from './local/local-ai.ts'
import { lmStudio } from './local/lm-studio.ts'
import { ollama } from './local/ollama.ts'
import { speaches } from './local/speaches.ts'
import { stableDiffusionCpp } from './local/stable-diffusion-cpp.ts'
import { vllm } from './local/vllm.ts'
import { whisperCpp } from './local/whisper-cpp.ts'
import { blackForestLabs } from './media/black-forest-labs.ts'
import { deepgram } from './media/deepgram.ts'
import { elevenlabs } from './media/elevenlabs.ts'
import { fal } from './media/fal.ts'
import { replicate } from './media/replicate.ts'
import { stability } from './media/stability.ts'
import type { Provider } from './provider.ts'

/** Each has its own shape of the same name. */
export const mediaProviders: readonly Provider[] = [elevenlabs, deepgram, replicate, fal, blackForestLabs, stability]

/** In the order of the preset list. */
export const everyProvider: readonly Provider[] = [
  openai,
  anthropic,
  google,
  openrouter,
  mistral,
  groq,
  together,
  fireworks,
  deepseek,
  xai,
  cohere,
  cerebras,
  moonshotai,
  azure,
  bedrock,
  vertex,
  ...mediaProviders,
  ollama,
  vllm,
  lmStudio,
  llamaCpp,
  localAi,
  whisperCpp,
  speaches,
  kokoroFastApi,
  stableDiffusionCpp,
]

const byId = new Map(everyProvider.map((provider) => [provider.id, provider]))

/** Null: the endpoint has no preset, or a removed one. */
export const providerOf = (id: string | null): Provider | null => (id === null ? null : (byId.get(id) ?? null))

/** Precomputed, because it is looked up on every call. */
export const idsWhere = (holds: (provider: Provider) => boolean | undefined): ReadonlySet<string | null> =>
  new Set(everyProvider.filter(holds).map(({ id }) => id))
