/**
 * Durations from the last `npm test -- --note-times`, under parallel load, used for ordering. Files below `NOTED_S`
 * aren't recorded.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from './worker.ts'

export interface Time {
  seconds: number
  /** CPU seconds of the file's process and its children. */
  processor: number
}

const path = join(import.meta.dirname, 'times.json')
const NOTED_S = 5
const LETTERS_PER_SECOND = 4_000

export const readTimes = (): Record<string, Time> => JSON.parse(readFileSync(path, 'utf8')) as Record<string, Time>

export const estimateSeconds = (times: Record<string, Time>, file: string, text: string): number =>
  times[file]?.seconds ?? Math.min(text.length / LETTERS_PER_SECOND, NOTED_S)

export function noteTimes(outcomes: readonly Outcome[]): void {
  const entries = outcomes
    .filter(({ seconds }) => seconds >= NOTED_S)
    .toSorted((a, b) => b.seconds - a.seconds)
    .map(({ file, seconds, processor }) => [file, { seconds: Math.round(seconds), processor: Math.round(processor) }])
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`)
}
