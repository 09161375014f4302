import type { z } from 'zod'
import type { Part as PartSchema } from '../contract-messages.ts'
import { shorten } from '#core/text/shorten.ts'

export type Part = z.output<typeof PartSchema>

type Media = Extract<Part, { type: 'image' | 'file' }>
export type FromDrive = Media & { source: Extract<Media['source'], { kind: 'file' }> }

export const isFromDrive = (part: Part): part is FromDrive =>
  (part.type === 'image' || part.type === 'file') && part.source.kind === 'file'

export const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

export const finalText = (content: readonly Part[]): string =>
  textOf(content.slice(content.findLastIndex(({ type }) => type === 'tool_result') + 1)) || textOf(content)

/** In code points. */
const MAX_TITLE_LENGTH = 60

/** Derives a title from the first line with text, cut at a word if too long. Null if there is none. */
export function titleOf(text: string): string | null {
  const line = text
    .split(/\r?\n/)
    .map((line) =>
      line
        .replace(/^[\s#>*`-]+/, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .find((line) => line !== '')
  if (line === undefined) return null
  const start = Array.from(line.slice(0, 2 * MAX_TITLE_LENGTH + 2))
  if (start.length <= MAX_TITLE_LENGTH) return line
  const cut = shorten(line, start.slice(0, MAX_TITLE_LENGTH - 1).join('').length)
  const space = cut.lastIndexOf(' ')
  return `${(space > MAX_TITLE_LENGTH / 2 ? cut.slice(0, space) : cut).trimEnd()}…`
}
