import { newId } from '#core/ids.ts'
import type { Chunk } from '../../../model/canonical-request.ts'
import { type Json, objectOf, parseJson, textOf } from '../../../model/json.ts'
import { GEMINI_FORMAT } from '../../parts/gemini-signature.ts'
import { readCallSignature } from '../call-signature.ts'
import { JsonBalance } from '../../streams/json-balance.ts'
import { WholeText } from '../../streams/whole-text.ts'

interface Call {
  id: string
  name: string
  text: string
  waiting: string
  /** Google's signature, to be returned with the call; empty if there is none, or once it was emitted. */
  signature: string
  state: 'unnamed' | 'open' | 'ended'
  whole: WholeText
  balance: JsonBalance
}

/**
 * Providers send calls by index; all under index 0 with different IDs; without an index; with the ID or name late,
 * repeated, or missing; with arguments whole, in pieces, or as an object. A call ends when something else starts and
 * its arguments are complete JSON, and at the latest with the answer.
 */
export class ToolCallReader {
  readonly #calls: Call[] = []
  readonly #byIndex = new Map<unknown, Call>()
  readonly #byId = new Map<string, Call>()
  readonly #ids = new Set<string>()
  readonly #grown = new Set<Call>()

  get any(): boolean {
    return this.#ids.size > 0
  }

  /** Then a stream without an end wasn't cut inside a call. */
  get complete(): boolean {
    return this.#calls.every(({ text }) => text === '' || parseJson(text) !== undefined)
  }

  delta(value: unknown): Chunk[] {
    const delta = objectOf(value)
    const fn = objectOf(delta['function'])
    const id = textOf(delta['id'])
    const name = textOf(fn['name'])
    const chunks: Chunk[] = []
    const call = this.#find(delta['index'], id, name) ?? this.#begin(delta['index'], chunks)
    if (call.state === 'unnamed') {
      if (call.id === '' && id !== '') this.#byId.set((call.id = id), call)
      call.name ||= name
    }
    call.waiting += argumentsOf(fn)
    call.signature ||= readCallSignature(delta)
    if (call.state === 'unnamed' && call.name !== '' && call.id !== '') this.#announce(call, chunks)
    this.#flush(call, chunks)
    return chunks
  }

  interrupt(): Chunk[] {
    const chunks: Chunk[] = []
    for (const call of this.#grown)
      if (call.state === 'open' && call.balance.closed && parseJson(call.text) !== undefined) this.#end(call, chunks)
    this.#grown.clear()
    return chunks
  }

  end(): Chunk[] {
    const chunks: Chunk[] = []
    for (const call of this.#calls) {
      if (call.state === 'unnamed' && call.name !== '') this.#announce(call, chunks)
      if (call.state === 'open') this.#end(call, chunks)
    }
    return chunks
  }

  #find(index: unknown, id: string, name: string): Call | undefined {
    const call =
      index === undefined || index === null
        ? id === ''
          ? this.#calls.at(-1)
          : this.#byId.get(id)
        : this.#byIndex.get(index)
    // A new ID with a name under the same index is another call: some providers send index 0 for all.
    const other = call !== undefined && call.id !== '' && id !== '' && name !== '' && call.id !== id
    return other ? undefined : call
  }

  #begin(index: unknown, chunks: Chunk[]): Call {
    chunks.push(...this.interrupt())
    const call: Call = {
      id: '',
      name: '',
      text: '',
      waiting: '',
      signature: '',
      state: 'unnamed',
      whole: new WholeText(),
      balance: new JsonBalance(),
    }
    this.#calls.push(call)
    if (index !== undefined && index !== null) this.#byIndex.set(index, call)
    return call
  }

  #announce(call: Call, chunks: Chunk[]): void {
    // Calls without an ID, or with a duplicate, still need a unique one.
    if (call.id === '' || this.#ids.has(call.id)) call.id = `call_${newId()}`
    this.#ids.add(call.id)
    this.#byId.set(call.id, call)
    call.state = 'open'
    this.#sign(call, chunks)
    chunks.push({ type: 'tool_call_start', id: call.id, name: call.name })
    this.#flush(call, chunks)
  }

  #flush(call: Call, chunks: Chunk[]): void {
    if (call.state === 'unnamed') return
    const delta = call.state === 'open' ? call.whole.push(call.waiting) : ''
    call.waiting = ''
    if (delta === '') return
    call.text += delta
    call.balance.push(delta)
    this.#grown.add(call)
    chunks.push({ type: 'tool_call_delta', id: call.id, delta })
  }

  #end(call: Call, chunks: Chunk[]): void {
    // A call without arguments: in JSON an empty object.
    const delta = call.whole.rest() || (call.text === '' ? '{}' : '')
    if (delta !== '') chunks.push({ type: 'tool_call_delta', id: call.id, delta })
    call.state = 'ended'
    chunks.push({ type: 'tool_call_end', id: call.id })
    this.#sign(call, chunks)
  }

  #sign(call: Call, chunks: Chunk[]): void {
    const { id, signature } = call
    call.signature = ''
    if (signature !== '') chunks.push({ type: 'reasoning_end', redacted: signature, format: GEMINI_FORMAT, id })
  }
}

function argumentsOf(fn: Json): string {
  const args = fn['arguments']
  if (typeof args === 'string') return args
  return typeof args === 'object' && args !== null ? JSON.stringify(args) : ''
}
