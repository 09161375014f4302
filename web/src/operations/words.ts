import type { Tone } from '../ui/page.tsx'
import type { Operation, Status } from './queries.ts'

export const tones: Record<Status, Tone> = {
  queued: 'ai',
  running: 'ai',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'warn',
  expired: 'bad',
}
export const says: Record<Status, string> = {
  queued: 'waiting',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  expired: 'timed out',
}

export function placeOf({ resource }: Operation): { href: string; words: string } | null {
  if (resource === null) return null
  const { type, id } = resource
  const places: Record<string, [string, string]> = {
    chat: [`/app/chats/${id}`, 'Chat'],
    file: [`/v1/drive/files/${id}`, 'File'],
    computer: [`/app/computers/${id}`, 'Computer'],
    automation: [`/app/automations/${id}`, 'Automation'],
    agent: [`/app/agents/${id}`, 'Agent'],
  }
  const place = places[type]
  return place ? { href: place[0], words: place[1] } : null
}

/** The duration in milliseconds, so far if it is still running. Null before it starts. */
export const durationOf = ({ started_at, completed_at }: Operation, now: number = Date.now()): number | null =>
  started_at === null
    ? null
    : Math.max(0, (completed_at === null ? now : Date.parse(completed_at)) - Date.parse(started_at))
