import { adapterOf } from '#gateway/media/vendors/every-adapter.ts'
import type { Row } from '../catalogues/rows.ts'

/** Whether a way is known to have media made or read there with this model. */
export const makesMedia = ({ media, source, endpoint }: Row): boolean =>
  media !== undefined &&
  (source.own !== undefined || source.from === 'computer' || adapterOf(endpoint)[media.kind] !== undefined)
