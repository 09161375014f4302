/** Calls of tools as a message holds them, and their results. */
import { storable, storableJson } from '#core/text/storable.ts'
import type { Part } from './parts.ts'
import { shorten } from '#core/text/shorten.ts'

export interface Result {
  output: unknown
  is_error: boolean
}

export type Call = Extract<Part, { type: 'tool_call' }>
/** A call without its result, and which part of the message it is: vendors use an id twice. */
export interface OpenCall {
  index: number
  call: Call
}

/** Tool calls of a message that have no result yet. */
export function openCalls(parts: readonly Part[]): OpenCall[] {
  const open: OpenCall[] = []
  for (const [index, part] of parts.entries()) {
    if (part.type === 'tool_call') open.push({ index, call: part })
    if (part.type !== 'tool_result') continue
    const at = open.findIndex(({ call }) => call.id === part.tool_call_id)
    if (at !== -1) open.splice(at, 1)
  }
  return open
}

/** The arguments that the model wrote, as the run's columns keep them; null where they are not a JSON object. */
export function argumentsOf({ arguments: words }: Call): Record<string, unknown> | null {
  try {
    const given: unknown = words.trim() === '' ? {} : storableJson(words)
    return typeof given === 'object' && given !== null && !Array.isArray(given)
      ? (given as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

/** Characters of a result that a model reads. */
const MOST_OUTPUT = 64_000

/** A result as it is stored and told: bounded, and only what a column holds. */
export function bounded({ output, is_error }: Result): Result {
  const json = JSON.stringify(output ?? null)
  if (json.length <= MOST_OUTPUT) return { output: storableJson(json), is_error }
  const text = storable(shorten(json, MOST_OUTPUT).toWellFormed())
  return {
    output: {
      truncated: true,
      message: `The result has ${json.length} characters, and only the first ${MOST_OUTPUT} are included. Ask for less.`,
      text,
    },
    is_error,
  }
}

export const mistake = (message: string): Result => ({ output: { error: { message } }, is_error: true })
