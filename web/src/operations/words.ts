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
  expired: 'took too long',
}

/** The work that each kind of operation does; a kind that is not here is shown by its name. */
export const kinds: readonly (readonly [kind: string, words: string])[] = [
  ['inference.text', 'Answer of a model'],
  ['inference.images', 'Pictures'],
  ['inference.videos', 'Video'],
  ['inference.speech', 'Speech'],
  ['inference.transcriptions', 'Transcript'],
  ['chats.send', 'Answer in a chat'],
  ['computers.exec', 'Command on a computer'],
  ['computers.create', 'New cloud computer'],
  ['computers.snapshot', 'Snapshot of a computer'],
  ['computers.local_inference', 'Local model'],
]
export const saysKind = (kind: string): string => kinds.find(([one]) => one === kind)?.[1] ?? kind

/** The page of the thing that an operation works on, or has made. */
export function placeOf({ resource }: Operation): { href: string; words: string } | null {
  if (resource === null) return null
  const { type, id } = resource
  const known: Record<string, [string, string]> = {
    chat: [`/app/chats/${id}`, 'The chat'],
    file: [`/v1/drive/files/${id}`, 'The file'],
    computer: [`/app/computers/${id}`, 'The computer'],
    automation: [`/app/automations/${id}`, 'The automation'],
    agent: [`/app/agents/${id}`, 'The agent'],
  }
  const place = known[type]
  return place ? { href: place[0], words: place[1] } : null
}

/** The duration in milliseconds; of an operation that goes on, until now. Null where it has not begun. */
export const durationOf = ({ started_at, completed_at }: Operation, now: number = Date.now()): number | null =>
  started_at === null
    ? null
    : Math.max(0, (completed_at === null ? now : Date.parse(completed_at)) - Date.parse(started_at))
