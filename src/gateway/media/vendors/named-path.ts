import { notAName, pathOf, segmentOf } from '../../wire/path-name.ts'
import { MediaFault } from '../adapter.ts'

/** Keeps slashes. Throws `MediaFault` `bad_request` if the name leads elsewhere. */
export const modelPath = (model: string): string => pathOf(model) ?? refuseName('model', model)

export const nameSegment = (what: 'model' | 'voice' | 'job', name: string): string =>
  segmentOf(name) ?? refuseName(what, name)

function refuseName(what: string, name: string): never {
  throw new MediaFault('bad_request', notAName(what, name), { sent: false })
}
