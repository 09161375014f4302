import { notAName, pathOf, segmentOf } from '../../wire/path-name.ts'
import { MediaFault } from '../adapter.ts'

/** Returns a model's name for a path with its slashes kept. Throws `MediaFault` `bad_request` if it leads elsewhere. */
export const modelPath = (model: string): string => pathOf(model) ?? refuseName('model', model)

/** Returns a name as one path segment, or throws the same. */
export const nameSegment = (what: 'model' | 'voice' | 'job', name: string): string =>
  segmentOf(name) ?? refuseName(what, name)

function refuseName(what: string, name: string): never {
  throw new MediaFault('bad_request', notAName(what, name), { sent: false })
}
