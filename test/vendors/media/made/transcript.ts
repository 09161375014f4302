// A model's transcript: the scripted words, spread evenly over the audio's length, and the ways to write them.
import type { Making } from '../../vendor.ts'
import { secondsOf } from './sound.ts'

export type Transcript = {
  text: string
  seconds: number
  /** Sentences; two speakers take turns. */
  segments: (Span & { text: string; speaker: string; words: Word[] })[]
}

type Span = { start: number; end: number }
export type Word = Span & { word: string }

const HEARD = 'The loopback listens. It writes down what it hears.'

export function transcriptOf(sound: Buffer, making: Making = {}): Transcript {
  const text = making.text ?? HEARD
  const seconds = making.seconds ?? secondsOf(sound)
  const sentences = text.match(/[^.!?]+[.!?]*\s*/gu) ?? []
  const count = Math.max(1, text.split(/\s+/).filter(Boolean).length)
  const at = (word: number) => Math.round((seconds * word * 1_000) / count) / 1_000
  let doneCount = 0
  const segments = sentences.map((sentence, n) => {
    const words = sentence.split(/\s+/).filter(Boolean)
    const spans = words.map((word, place) => ({ word, start: at(doneCount + place), end: at(doneCount + place + 1) }))
    const span = { start: at(doneCount), end: at(doneCount + words.length) }
    doneCount += words.length
    return { ...span, text: sentence.trim(), speaker: n % 2 === 0 ? 'A' : 'B', words: spans }
  })
  return { text, seconds, segments }
}

export function wordsOf({ segments }: Transcript): Word[] {
  return segments.flatMap(({ words }) => words)
}

export function srt({ segments }: Transcript): string {
  const cues = segments.map(
    ({ start, end, text }, n) => `${n + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${text}\n\n`,
  )
  return cues.join('')
}

export function vtt({ segments }: Transcript): string {
  const cues = segments.map(({ start, end, text }) => `${clock(start, '.')} --> ${clock(end, '.')}\n${text}\n\n`)
  return `WEBVTT\n\n${cues.join('')}`
}

function clock(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1_000)
  const pad = (value: number, length = 2) => String(Math.floor(value)).padStart(length, '0')
  return `${pad(ms / 3_600_000)}:${pad((ms / 60_000) % 60)}:${pad((ms / 1_000) % 60)}${point}${pad(ms % 1_000, 3)}`
}
