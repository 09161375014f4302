import { storable, storableJson } from '#core/text/storable.ts'
import type { Part } from './parts.ts'
import { shorten } from '#core/text/shorten.ts'

export interface Result {
  output: unknown
  is_error: boolean
}

export type Call = Extract<Part, { type: 'tool_call' }>
/** A call without a result. `index` is its part's index, because providers can reuse IDs. */
export interface OpenCall {
  index: number
  call: Call
}

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

export function argumentsOf({ arguments: words }: Call): Record<string, unknown> | null {
  try {
    const args: unknown = words.trim() === '' ? {} : storableJson(words)
    return typeof args === 'object' && args !== null && !Array.isArray(args) ? (args as Record<string, unknown>) : null
  } catch {
    return null
  }
}

const MAX_OUTPUT = 64_000

export function bounded({ output, is_error }: Result): Result {
  const json = JSON.stringify(output ?? null)
  if (json.length <= MAX_OUTPUT) return { output: storableJson(json), is_error }
  const text = storable(shorten(json, MAX_OUTPUT).toWellFormed())
  return {
    output: {
      truncated: true,
      message: `The result has ${json.length} characters, and only the first ${MAX_OUTPUT} are included. Ask for less.`,
      text,
    },
    is_error,
  }
}

export const mistake = (message: string): Result => ({ output: { error: { message } }, is_error: true })
