import type { Endpoint, EndpointDraft, Preset } from '../../shared/api.ts'
import { typedNumber } from '../../ui/text/typed-number.ts'

type Listed = Endpoint['models'][number]
/** A model in the form; fields that the form doesn't have are kept in `rest`. */
export interface ModelDraft {
  key: number
  id: string
  input: string
  output: string
  rest: Partial<Listed>
}

export type YesNo = '' | 'yes' | 'no'
const known = { '': null, yes: true, no: false } as const
const knownOf = (value: boolean | null): YesNo => (value === null ? '' : value ? 'yes' : 'no')

export interface Draft {
  preset: string
  name: string
  slug: string
  shape: Endpoint['shape']
  base_url: string
  api_key: string
  dropKey: boolean
  /** Headers: one `Name: value` per line. */
  headers: string
  dropHeaders: boolean
  models: ModelDraft[]
  weight: string
  keeps: YesNo
  trains: YesNo
  /** The owner: `mine`, `instance`, or the id of a workspace. */
  owner: string
}

export const newDraft = (preset: Preset | null): Draft => ({
  preset: preset?.slug ?? '',
  name: preset?.name ?? '',
  slug: preset?.slug ?? '',
  shape: preset?.shape ?? 'openai-chat',
  base_url: preset?.base_url ?? '',
  api_key: '',
  dropKey: false,
  headers: '',
  dropHeaders: false,
  models: [],
  weight: '1',
  keeps: '',
  trains: '',
  owner: 'mine',
})

export const draftOf = (endpoint: Endpoint): Draft => ({
  ...newDraft(null),
  preset: endpoint.preset ?? '',
  name: endpoint.name,
  slug: endpoint.slug,
  shape: endpoint.shape,
  base_url: endpoint.base_url,
  models: endpoint.models.map(({ id, ...rest }, key) => ({
    key,
    id,
    input: rest.pricing ? String(rest.pricing.input) : '',
    output: rest.pricing ? String(rest.pricing.output) : '',
    rest,
  })),
  weight: String(endpoint.weight),
  keeps: knownOf(endpoint.data_policy.keeps),
  trains: knownOf(endpoint.data_policy.trains),
  owner: ownerOf(endpoint),
})

export const ownerOf = ({ instance, workspace_id }: Pick<Endpoint, 'instance' | 'workspace_id'>): string =>
  instance ? 'instance' : (workspace_id ?? 'mine')

const figure = (words: string): number => typedNumber(words.trim().replace(',', '.'))

function headersIn(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}

const modelsIn = (models: readonly ModelDraft[]): Listed[] =>
  models
    .filter(({ id }) => id.trim() !== '')
    .map(({ id, input, output, rest: { pricing, ...rest } }) => ({
      id,
      ...rest,
      ...((input.trim() || output.trim()) && {
        pricing: { ...pricing, input: figure(input || '0'), output: figure(output || '0') },
      }),
    }))

export const endpointIn = (draft: Draft): EndpointDraft => ({
  preset: draft.preset || null,
  name: draft.name,
  slug: draft.slug,
  shape: draft.shape,
  ...(draft.base_url.trim() && { base_url: draft.base_url }),
  api_key: draft.api_key.trim() || null,
  headers: headersIn(draft.headers),
  models: modelsIn(draft.models),
  weight: figure(draft.weight),
  data_policy: { keeps: known[draft.keeps], trains: known[draft.trains] },
  ...(draft.owner === 'instance' && { instance: true }),
  ...(draft.owner !== 'instance' && draft.owner !== 'mine' && { workspace_id: draft.owner }),
})

/** The changed fields. The key and headers can't be read back, so they are sent only if something was typed. */
export const changesIn = (draft: Draft) => ({
  name: draft.name,
  slug: draft.slug,
  shape: draft.shape,
  base_url: draft.base_url,
  models: modelsIn(draft.models),
  weight: figure(draft.weight),
  data_policy: { keeps: known[draft.keeps], trains: known[draft.trains] },
  ...(draft.dropKey ? { api_key: null } : draft.api_key.trim() && { api_key: draft.api_key }),
  ...(draft.dropHeaders ? { headers: {} } : draft.headers.trim() && { headers: headersIn(draft.headers) }),
})
