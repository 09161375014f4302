import type { Chunk } from '../../../model/canonical-request.ts'
import { listOf, objectOf, textOf } from '../../../model/json.ts'
import { WholeText } from '../../streams/whole-text.ts'
import { type Piece, pieceOf } from '../reasoning.ts'

type End = Extract<Chunk, { type: 'reasoning_end' }>

/** From `reasoning_details`, or from the plain text that vendors call `reasoning` or `reasoning_content`. */
export class ReasoningReader {
  #key: string | null = null
  #end: End = { type: 'reasoning_end' }
  readonly #whole = new WholeText()
  /** Once details have arrived, the plain text beside them repeats them. */
  #detailed = false
  #plain = ''

  read(message: Record<string, unknown>): Chunk[] {
    const chunks: Chunk[] = []
    const pieces = listOf(message['reasoning_details']).flatMap((detail) => pieceOf(detail) ?? [])
    // Our own compat-a seals plain reasoning by repeating its text with the signature.
    const seals = this.#key === 'plain' ? pieces.findIndex(({ text }) => text !== '' && this.#plain.endsWith(text)) : -1
    if (seals >= 0) {
      const { key: _, text: __, ...opaque } = Object.assign({}, ...pieces.slice(seals)) as Piece
      Object.assign(this.#end, opaque)
      return this.end()
    }
    this.#detailed ||= pieces.some(({ text }) => text !== '')
    for (const { key, text, ...opaque } of pieces) {
      if (this.#key !== null && (this.#key !== key || this.#end.signature !== undefined)) chunks.push(...this.end())
      this.#key = key
      this.#push(text, chunks)
      Object.assign(this.#end, opaque)
      if (opaque.redacted !== undefined) chunks.push(...this.end())
    }
    if (this.#detailed) return chunks
    const plain = textOf(message['reasoning_content']) || textOf(message['reasoning']) || thinking(message['content'])
    if (plain === '') return chunks
    if (this.#end.signature !== undefined) chunks.push(...this.end())
    this.#key ??= 'plain'
    this.#plain += plain
    this.#push(plain, chunks)
    return chunks
  }

  end(): Chunk[] {
    if (this.#key === null) return []
    const chunks: Chunk[] = []
    const rest = this.#whole.rest()
    if (rest !== '') chunks.push({ type: 'reasoning', text: rest })
    chunks.push(this.#end)
    this.#key = null
    this.#plain = ''
    this.#end = { type: 'reasoning_end' }
    return chunks
  }

  #push(piece: string, chunks: Chunk[]): void {
    const text = this.#whole.push(piece)
    if (text !== '') chunks.push({ type: 'reasoning', text })
  }
}

/** Mistral's thinking parts, which are part of the content. */
const thinking = (content: unknown): string =>
  listOf(content)
    .map(objectOf)
    .filter((part) => part['type'] === 'thinking')
    .flatMap((part) =>
      typeof part['thinking'] === 'string'
        ? part['thinking']
        : listOf(part['thinking']).map((one) => textOf(objectOf(one)['text'])),
    )
    .join('')
