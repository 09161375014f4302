import type { ListedOffer } from '../../model/offer.ts'

export const writeModel = ({ slug, endpoint, createdAt }: ListedOffer): object => ({
  id: slug,
  object: 'model',
  created: Math.floor(Date.parse(createdAt) / 1000),
  owned_by: endpoint.slug,
})

export const writeModels = (rows: readonly ListedOffer[]): object => ({ object: 'list', data: rows.map(writeModel) })
