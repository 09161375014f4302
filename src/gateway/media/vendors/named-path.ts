import { notAName, pathOf, segmentOf } from '../../wire/path-name.ts'
import { MediaFault } from '../adapter.ts'

/** A model's name in a path, its slashes kept. Throws `MediaFault` `bad_request` for one that leads elsewhere. */
export const modelPath = (model: string): string => pathOf(model) ?? refused('model', model)

/** A name as one segment of a path. Throws the same. */
export const named = (what: 'model' | 'voice' | 'job', name: string): string => segmentOf(name) ?? refused(what, name)

function refused(what: string, name: string): never {
  throw new MediaFault('bad_request', notAName(what, name), { sent: false })
}
