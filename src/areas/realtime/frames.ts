import type { Change } from '#engine/outbox/changes.ts'
import { iso } from '#kernel/time.ts'

/** Server-sent events as bytes, written out once for all who read them. */
const frame = (event: string, json: string, id?: string): Buffer =>
  Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`)

export function changeFrame(change: Change, id: string): Buffer {
  const { channel, epoch, offset, type, resource_type, resource_id, data, at } = change
  const resource = resource_type === null || resource_id === null ? null : { type: resource_type, id: resource_id }
  // `data` is JSON on one line already: the database escapes line breaks.
  const json = `{"channel":${JSON.stringify(channel)},"epoch":"${epoch}","offset":${offset},"type":${JSON.stringify(type)},"resource":${JSON.stringify(resource)},"data":${data},"at":"${iso(at)}"}`
  return frame('change', json, id)
}

export const eventFrame = (event: string, data: unknown, id?: string): Buffer => frame(event, JSON.stringify(data), id)
