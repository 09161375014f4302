import { type MediaAbilities, type MediaKind, unknownAbilities } from '../catalogue/media.ts'
import type { CatalogueModel } from '../catalogue/model.ts'
import type { Offer } from '../model/offer.ts'

export const SIM_CONTEXT = 1_000_000
export const SIM_OUTPUT = 100_000

const model = (name: 'echo' | 'script', capabilities: string[]): CatalogueModel => ({
  slug: `sim/${name}`,
  provider: 'sim',
  upstream_model: name,
  name: name === 'echo' ? 'Simulated echo' : 'Simulated script',
  kind: 'text',
  context_length: SIM_CONTEXT,
  max_output_tokens: SIM_OUTPUT,
  modalities: { input: ['text'], output: ['text'] },
  capabilities,
  capability_index: null,
  capability_index_source: null,
  pricing: { input: '1', output: '2' },
  price_source: 'contract',
  price_date: '2026-11-21',
  released_at: '2026-11-21',
})

/** Contract, part 8. */
export const simModels: readonly CatalogueModel[] = [model('echo', []), model('script', ['tools', 'reasoning'])]

const mediaModel = (
  kind: MediaKind,
  name: string,
  modalities: CatalogueModel['modalities'],
  price: 'image' | 'video_second' | 'character' | 'audio_second',
  can: Partial<MediaAbilities>,
): CatalogueModel => ({
  slug: `sim/${kind}`,
  provider: 'sim',
  upstream_model: kind,
  name,
  kind,
  context_length: null,
  max_output_tokens: null,
  modalities,
  capabilities: [],
  capability_index: null,
  capability_index_source: null,
  media: { ...unknownAbilities(kind), ...can } as MediaAbilities,
  pricing: { input: '0', output: '0', [price]: '0' },
  price_source: 'contract',
  price_date: '2026-11-21',
  released_at: '2026-11-21',
})

/** Contract, part 16. They are free. */
export const simMediaModels: readonly CatalogueModel[] = [
  mediaModel('image', 'Simulated images', { input: ['text', 'image'], output: ['image'] }, 'image', {
    max_n: 10,
    edits: true,
    masks: true,
  }),
  mediaModel('video', 'Simulated video', { input: ['text', 'image'], output: ['video'] }, 'video_second', {
    modes: ['text_to_video', 'image_to_video', 'frames', 'references'],
    seconds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  }),
  mediaModel('speech', 'Simulated speech', { input: ['text'], output: ['audio'] }, 'character', {
    formats: ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'],
    streams: true,
  }),
  mediaModel('transcription', 'Simulated transcription', { input: ['audio'], output: ['text'] }, 'audio_second', {}),
]

/** The reserved slug belongs to the simulated provider only. */
export const isSimulated = ({ endpoint }: Offer): boolean => endpoint.slug === 'sim'

export type SimModel = 'echo' | 'script'

export function simModelOf(name: string): SimModel | null {
  const match = simModels.find(({ slug, upstream_model }) => slug === name || upstream_model === name)
  return match === undefined ? null : (match.upstream_model as SimModel)
}
