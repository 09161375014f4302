import type { HasEndpoints, HasVoices } from '#modules/ai-gateway/service.ts'
import type { Context } from '#infra/context.ts'
import { implementWith } from '#core/implement.ts'
import { audio, images, videos } from './contract-media.ts'
import { pageBySlug, resultsOf } from './lists.ts'
import { type Found, mediaModelsOf, showAudio, showImage, showVideo } from './media-models.ts'
import { searchAudio, searchImages, searchVideos } from './media-search.ts'
import { searchVoices, voicesFor } from './voices.ts'

const ofProvider = <T extends { provider: string }>(models: readonly Found<T>[], provider: string | undefined): T[] =>
  models.map(({ shown }) => shown).filter((model) => provider === undefined || model.provider === provider)

export const imageService = implementWith<Context<HasEndpoints>>()(images, {
  async models(ctx, { status, provider, kind, cursor, limit }) {
    const all = (await mediaModelsOf(ctx, ['image'], status)).flatMap(showImage)
    const filters = { status, provider, kind }
    return pageBySlug('image models', ctx.principal, filters, ofProvider(all, provider), { cursor, limit })
  },

  async search_models(ctx, { status, offset, limit, q, ...filters }) {
    const all = (await mediaModelsOf(ctx, ['image'], status)).flatMap(showImage)
    return resultsOf(searchImages(all, { q, ...filters }), { offset, limit, q }, { ...filters, status })
  },
})

export const videoService = implementWith<Context<HasEndpoints>>()(videos, {
  async models(ctx, { status, provider, kind, cursor, limit }) {
    const all = (await mediaModelsOf(ctx, ['video'], status)).flatMap(showVideo)
    const filters = { status, provider, kind }
    return pageBySlug('video models', ctx.principal, filters, ofProvider(all, provider), { cursor, limit })
  },

  async search_models(ctx, { status, offset, limit, q, ...filters }) {
    const all = (await mediaModelsOf(ctx, ['video'], status)).flatMap(showVideo)
    return resultsOf(searchVideos(all, { q, ...filters }), { offset, limit, q }, { ...filters, status })
  },
})

export const audioService = implementWith<Context<HasEndpoints & HasVoices>>()(audio, {
  async models(ctx, { status, provider, kind, cursor, limit }) {
    const kinds = kind === undefined ? (['speech', 'transcription'] as const) : [kind]
    const all = await showAudio(ctx, await mediaModelsOf(ctx, kinds, status))
    const filters = { status, provider, kind }
    return pageBySlug('audio models', ctx.principal, filters, ofProvider(all, provider), { cursor, limit })
  },

  async search_models(ctx, { status, offset, limit, q, ...filters }) {
    const all = await showAudio(ctx, await mediaModelsOf(ctx, ['speech', 'transcription'], status))
    return resultsOf(searchAudio(all, { q, ...filters }), { offset, limit, q }, { ...filters, status })
  },

  async voices(ctx, { cursor, limit, ...filters }) {
    const all = searchVoices(await voicesFor(ctx), filters)
    return pageBySlug('voices', ctx.principal, filters, all, { cursor, limit })
  },

  async search_voices(ctx, { offset, limit, q, ...filters }) {
    return resultsOf(searchVoices(await voicesFor(ctx), { q, ...filters }), { offset, limit, q }, filters)
  },
})
