import { adapterOf } from '#gateway/media/vendors/every-adapter.ts'
import type { Row } from '../catalogues/rows.ts'

export const makesMedia = ({ media, source, endpoint }: Row): boolean =>
  media !== undefined &&
  (source.own !== undefined || source.from === 'computer' || adapterOf(endpoint)[media.kind] !== undefined)
