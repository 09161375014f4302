import { randomUUID } from 'node:crypto'
import { PIECE, charactersOf, jsonPieces } from '#core/json/json-pieces.ts'
import type { ToolResult } from './tools/tools.ts'

/**
 * The large tool results of one request. The SDK writes a message at once, which would block the event loop: it gets small
 * stand-ins, and the results are written piece by piece in their place.
 */
export class LargeResults {
  /** No one can guess it, so it can't occur in a message by itself. */
  readonly #mark = randomUUID()
  readonly #results: Record<string, unknown>[] = []

  /** Returns the result, or a stand-in if it is large. */
  replace(result: ToolResult): ToolResult {
    const { content, structuredContent } = result
    if (charactersOf(structuredContent) < PIECE) return result
    const name = `${this.#mark}-${this.#results.push(structuredContent) - 1}`
    return {
      ...result,
      content: [{ type: 'text', text: name }, ...content.slice(1)],
      structuredContent: { [name]: true },
    }
  }

  get isEmpty(): boolean {
    return this.#results.length === 0
  }

  /** Writes a message with the results in the place of their stand-ins, in pieces. */
  *pieces(message: string): Generator<string, void, undefined> {
    const standIn = new RegExp(`\\{"${this.#mark}-(?<data>\\d+)":true\\}|"${this.#mark}-(?<text>\\d+)"`, 'g')
    let from = 0
    for (const { 0: found, index, groups } of message.matchAll(standIn)) {
      yield message.slice(from, index)
      from = index + found.length
      const { data, text } = groups!
      if (data !== undefined) yield* jsonPieces(this.#results[Number(data)]!)
      else yield* textPieces(this.#results[Number(text)]!)
    }
    yield message.slice(from)
  }
}

/** The JSON of a value as a JSON string. */
function* textPieces(value: object): Generator<string, void, undefined> {
  yield '"'
  for (const piece of jsonPieces(value)) yield JSON.stringify(piece).slice(1, -1)
  yield '"'
}
