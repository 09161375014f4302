import type { Chunk } from '../../../model/canonical-request.ts'
import { readBlockCitation } from '../../shared/citations.ts'
import { isObject, type Json, listOf, objectOf, textOf } from '../../../model/json.ts'
import { lostPart } from '../../parts/lost-parts.ts'
import { WholeText } from '../../streams/whole-text.ts'
import { ANTHROPIC_FORMAT } from '../signature.ts'

type Open =
  | { kind: 'text'; whole: WholeText; from: number; citations: unknown[] }
  | { kind: 'thinking'; whole: WholeText; signature: string }
  | { kind: 'redacted'; data: string }
  | { kind: 'tool'; whole: WholeText; id: string; input: unknown; spoke: boolean }

export class BlockReader {
  readonly #open = new Map<unknown, Open>()
  #calls = 0
  #said = 0

  get calls(): number {
    return this.#calls
  }

  start(index: unknown, value: unknown): Chunk[] {
    const block = objectOf(value)
    const before = this.stop(index)
    switch (block['type']) {
      case 'text':
        this.#open.set(index, {
          kind: 'text',
          whole: new WholeText(),
          from: this.#said,
          citations: [...listOf(block['citations'])],
        })
        return [...before, ...this.delta(index, { type: 'text_delta', text: block['text'] })]
      case 'thinking':
        this.#open.set(index, { kind: 'thinking', whole: new WholeText(), signature: textOf(block['signature']) })
        return [...before, ...this.delta(index, { type: 'thinking_delta', thinking: block['thinking'] })]
      case 'redacted_thinking':
        this.#open.set(index, { kind: 'redacted', data: textOf(block['data']) })
        return before
      case 'tool_use': {
        this.#calls++
        const id = textOf(block['id'])
        this.#open.set(index, { kind: 'tool', whole: new WholeText(), id, input: block['input'], spoke: false })
        return [...before, { type: 'tool_call_start', id, name: textOf(block['name']) }]
      }
      default:
        return [...before, lostPart(textOf(block['type']))]
    }
  }

  delta(index: unknown, value: unknown): Chunk[] {
    const open = this.#open.get(index)
    const delta: Json = objectOf(value)
    if (open?.kind === 'text' && delta['type'] === 'text_delta')
      return this.#text(open.whole.push(textOf(delta['text'])))
    if (open?.kind === 'text' && delta['type'] === 'citations_delta') open.citations.push(delta['citation'])
    if (open?.kind === 'thinking' && delta['type'] === 'thinking_delta') {
      return reasoning(open.whole.push(textOf(delta['thinking'])))
    }
    if (open?.kind === 'thinking' && delta['type'] === 'signature_delta') open.signature += textOf(delta['signature'])
    if (open?.kind === 'tool' && delta['type'] === 'input_json_delta') {
      const piece = open.whole.push(textOf(delta['partial_json']))
      open.spoke ||= piece !== ''
      return call(open.id, piece)
    }
    return []
  }

  stop(index: unknown): Chunk[] {
    const open = this.#open.get(index)
    this.#open.delete(index)
    switch (open?.kind) {
      case 'text': {
        const rest = this.#text(open.whole.rest())
        const citations = open.citations.map((one): Chunk => ({
          type: 'citation',
          citation: readBlockCitation(one, open.from, this.#said),
        }))
        return [...rest, ...citations]
      }
      case 'thinking': {
        const signature = open.signature === '' ? {} : { signature: open.signature, format: ANTHROPIC_FORMAT }
        return [...reasoning(open.whole.rest()), { type: 'reasoning_end', ...signature }]
      }
      case 'redacted':
        return [{ type: 'reasoning_end', redacted: open.data, format: ANTHROPIC_FORMAT }]
      case 'tool': {
        // Some vendors send the whole input with the start; no input is an empty object.
        const whole = isObject(open.input) ? JSON.stringify(open.input) : '{}'
        return [
          ...call(open.id, open.whole.rest() || (open.spoke ? '' : whole)),
          { type: 'tool_call_end', id: open.id },
        ]
      }
      default:
        return []
    }
  }

  #text(piece: string): Chunk[] {
    this.#said += piece.length
    return piece === '' ? [] : [{ type: 'text', text: piece }]
  }

  stopAll(): Chunk[] {
    return [...this.#open.keys()].flatMap((index) => this.stop(index))
  }
}

const reasoning = (piece: string): Chunk[] => (piece === '' ? [] : [{ type: 'reasoning', text: piece }])
const call = (id: string, delta: string): Chunk[] => (delta === '' ? [] : [{ type: 'tool_call_delta', id, delta }])
