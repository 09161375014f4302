import { writeBlockCitation } from '../../shared/citations.ts'
import type { ItemChunk } from '../../streams/one-at-a-time.ts'
import type { Json } from '../../../model/json.ts'
import { isAnthropic, sealSignature } from '../signature.ts'

type Write = (name: string, fields: Json) => string

export class BlockWriter {
  readonly #write: Write
  #index = 0
  #open: 'text' | 'reasoning' | 'tool' | null = null

  constructor(write: Write) {
    this.#write = write
  }

  write(piece: ItemChunk): string {
    switch (piece.type) {
      case 'text':
        return this.#into('text') + this.#delta({ type: 'text_delta', text: piece.text })
      case 'citation': {
        const citation = writeBlockCitation(piece.citation)
        return this.#open === 'text' && citation !== null ? this.#delta({ type: 'citations_delta', citation }) : ''
      }
      case 'reasoning':
        return this.#into('reasoning') + this.#delta({ type: 'thinking_delta', thinking: piece.text })
      case 'reasoning_end': {
        const { redacted: data } = piece
        if (data !== undefined && isAnthropic(piece) && this.#open !== 'reasoning')
          return this.end() + this.#start({ type: 'redacted_thinking', data: data }) + this.#stop()
        return this.#into('reasoning') + this.#seal(sealSignature(piece))
      }
      case 'tool_call_start': {
        const block = { type: 'tool_use', id: piece.id, name: piece.name, input: {}, caller: { type: 'direct' } }
        const opening = this.end() + this.#start(block)
        this.#open = 'tool'
        return opening
      }
      case 'tool_call_delta':
        return piece.delta === '' ? '' : this.#delta({ type: 'input_json_delta', partial_json: piece.delta })
      case 'tool_call_end':
        return this.#stop()
      case 'image':
        return ''
    }
  }

  end(): string {
    if (this.#open === null) return ''
    return this.#open === 'reasoning' ? this.#seal(sealSignature({})) : this.#stop()
  }

  #into(kind: 'text' | 'reasoning'): string {
    if (this.#open === kind) return ''
    const block =
      kind === 'text' ? { type: 'text', text: '', citations: null } : { type: 'thinking', thinking: '', signature: '' }
    const opening = this.end() + this.#start(block)
    this.#open = kind
    return opening
  }

  #seal(signature: string): string {
    return this.#delta({ type: 'signature_delta', signature }) + this.#stop()
  }

  #start(content_block: Json): string {
    return this.#write('content_block_start', { index: this.#index, content_block })
  }

  #delta(delta: Json): string {
    return this.#write('content_block_delta', { index: this.#index, delta })
  }

  #stop(): string {
    this.#open = null
    return this.#write('content_block_stop', { index: this.#index++ })
  }
}
