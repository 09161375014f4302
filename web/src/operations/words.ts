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

/** Labels by kind; other kinds show their name. */
export const kinds: readonly (readonly [kind: string, words: string])[] = [
  ['inference.text', 'Model response'],
  ['inference.images', 'Images'],
  ['inference.videos', 'Video'],
  ['inference.speech', 'Speech'],
  ['inference.transcriptions', 'Transcript'],
  ['chats.send', 'Chat response'],
  ['computers.exec', 'Command on a computer'],
  ['computers.create', 'New cloud computer'],
  ['computers.snapshot', 'Snapshot of a computer'],
  ['computers.local_inference', 'Local model'],
]
export const saysKind = (kind: string): string => kinds.find(([one]) => one === kind)?.[1] ?? kind

export function placeOf({ resource }: Operation): { href: string; words: string } | null {
  if (resource === null) return null
  const { type, id } = resource
  const known: Record<string, [string, string]> = {
    chat: [`/app/chats/${id}`, 'Chat'],
    file: [`/v1/drive/files/${id}`, 'File'],
    computer: [`/app/computers/${id}`, 'Computer'],
    automation: [`/app/automations/${id}`, 'Automation'],
    agent: [`/app/agents/${id}`, 'Agent'],
  }
  const place = known[type]
  return place ? { href: place[0], words: place[1] } : null
}

/** The duration in milliseconds, so far if it is still running. Null before it starts. */
export const durationOf = ({ started_at, completed_at }: Operation, now: number = Date.now()): number | null =>
  started_at === null
    ? null
    : Math.max(0, (completed_at === null ? now : Date.parse(completed_at)) - Date.parse(started_at))
