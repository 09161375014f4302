import type { Change } from '#infra/outbox/changes.ts'
import type { EventBatch } from '#core/answers.ts'
import { iso } from '#core/time.ts'

/** Encodes a server-sent event once for all readers. `data` is for readers that take no bytes. */
const frame = (event: string, json: string, data: () => unknown, id?: string): EventBatch => ({
  bytes: Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`),
  events: () => [{ ...(id !== undefined && { id }), event, data: data() }],
})

export function changeFrame(change: Change, id: string): EventBatch {
  const { channel, epoch, offset, type, resource_type, resource_id, data, at } = change
  const resource = resource_type === null || resource_id === null ? null : { type: resource_type, id: resource_id }
  // `data` is already single-line JSON: the database escapes line breaks.
  const json = `{"channel":${JSON.stringify(channel)},"epoch":"${epoch}","offset":${offset},"type":${JSON.stringify(type)},"resource":${JSON.stringify(resource)},"data":${data},"at":"${iso(at)}"}`
  return frame(
    'change',
    json,
    () => ({ channel, epoch, offset: Number(offset), type, resource, data: JSON.parse(data) as unknown, at: iso(at) }),
    id,
  )
}

export const jsonFrame = (event: string, json: string): EventBatch =>
  frame(event, json, () => JSON.parse(json) as unknown)

export const eventFrame = (event: string, data: unknown, id?: string): EventBatch =>
  frame(event, JSON.stringify(data), () => data, id)
