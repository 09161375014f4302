import type { Listed } from '../../directory.ts'

/** `GET /models/{id}` of OpenAI. An unknown release date is the epoch. */
export const writeModel = ({ slug, endpoint, releasedAt }: Listed): object => ({
  id: slug,
  object: 'model',
  created: releasedAt === null ? 0 : Math.floor(Date.parse(releasedAt) / 1000),
  owned_by: endpoint.slug,
})

export const writeModels = (rows: readonly Listed[]): object => ({ object: 'list', data: rows.map(writeModel) })
