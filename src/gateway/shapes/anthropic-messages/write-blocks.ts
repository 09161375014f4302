import type { Chunk } from '../../turn.ts'
import { writeBlockCitation } from '../citations.ts'
import type { Json } from '../json.ts'
import { isAnthropic, sealSignature } from './signature.ts'

type Piece = Extract<
  Chunk,
  {
    type: 'text' | 'citation' | 'reasoning' | 'reasoning_end' | 'tool_call_start' | 'tool_call_delta' | 'tool_call_end'
  }
>
type Write = (name: string, fields: Json) => string

interface Block {
  kind: 'text' | 'reasoning' | 'redacted' | 'tool'
  content: Json
  /** Deltas that wait for the block's turn. */
  waiting: Json[]
  done: boolean
}

/**
 * Content blocks, strictly one after the other and each with its own index: clients lose what they are told about two
 * blocks at once. The first unfinished block is written as it comes, later ones wait for it.
 */
export class BlockWriter {
  readonly #write: Write
  readonly #queue: Block[] = []
  readonly #calls = new Map<string, Block>()
  #index = 0
  #begun = false

  constructor(write: Write) {
    this.#write = write
  }

  write(piece: Piece): string {
    switch (piece.type) {
      case 'text':
        if (piece.text !== '') this.#streaming('text').waiting.push({ type: 'text_delta', text: piece.text })
        break
      case 'citation': {
        const last = this.#queue.at(-1)
        const citation = writeBlockCitation(piece.citation)
        // One that comes behind its block has no place any more.
        if (last?.kind === 'text' && !last.done && citation !== null)
          last.waiting.push({ type: 'citations_delta', citation })
        break
      }
      case 'reasoning':
        if (piece.text !== '')
          this.#streaming('reasoning').waiting.push({ type: 'thinking_delta', thinking: piece.text })
        break
      case 'reasoning_end':
        this.#endReasoning(piece)
        break
      case 'tool_call_start': {
        this.#endStreaming()
        const content = { type: 'tool_use', id: piece.id, name: piece.name, input: {}, caller: { type: 'direct' } }
        this.#calls.set(piece.id, this.#add('tool', content))
        break
      }
      case 'tool_call_delta':
        if (piece.delta !== '') {
          this.#calls.get(piece.id)?.waiting.push({ type: 'input_json_delta', partial_json: piece.delta })
        }
        break
      case 'tool_call_end': {
        const call = this.#calls.get(piece.id)
        if (call) call.done = true
        this.#calls.delete(piece.id)
      }
    }
    return this.#flush()
  }

  end(): string {
    this.#endStreaming()
    for (const block of this.#queue) block.done = true
    return this.#flush()
  }

  /** The block of text or reasoning that is being written, or a new one: another kind ends it. */
  #streaming(kind: 'text' | 'reasoning'): Block {
    const last = this.#queue.at(-1)
    if (last?.kind === kind && !last.done) return last
    this.#endStreaming()
    const content =
      kind === 'text' ? { type: 'text', text: '', citations: null } : { type: 'thinking', thinking: '', signature: '' }
    return this.#add(kind, content)
  }

  #endStreaming(): void {
    const last = this.#queue.at(-1)
    if (!last || last.done || last.kind === 'tool') return
    if (last.kind === 'reasoning') last.waiting.push({ type: 'signature_delta', signature: sealSignature({}) })
    last.done = true
  }

  #endReasoning(opaque: Extract<Piece, { type: 'reasoning_end' }>): void {
    const last = this.#queue.at(-1)
    const streaming = last?.kind === 'reasoning' && !last.done
    if (opaque.redacted !== undefined && isAnthropic(opaque) && !streaming) {
      this.#endStreaming()
      this.#add('redacted', { type: 'redacted_thinking', data: opaque.redacted }).done = true
      return
    }
    const block = this.#streaming('reasoning')
    block.waiting.push({ type: 'signature_delta', signature: sealSignature(opaque) })
    block.done = true
  }

  #add(kind: Block['kind'], content: Json): Block {
    const block: Block = { kind, content, waiting: [], done: false }
    this.#queue.push(block)
    return block
  }

  #flush(): string {
    let out = ''
    for (let block = this.#queue[0]; block; block = this.#queue[0]) {
      const index = this.#index
      if (!this.#begun) out += this.#write('content_block_start', { index, content_block: block.content })
      this.#begun = true
      for (const delta of block.waiting.splice(0)) out += this.#write('content_block_delta', { index, delta })
      if (!block.done) break
      out += this.#write('content_block_stop', { index })
      this.#queue.shift()
      this.#begun = false
      this.#index++
    }
    return out
  }
}
