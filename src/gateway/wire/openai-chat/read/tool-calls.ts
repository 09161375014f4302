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
  /** All arguments so far. */
  text: string
  /** Arguments that wait for the call to be announced. */
  waiting: string
  /** Google's, which wants it back with the call; empty: none, or it was told. */
  signature: string
  state: 'unnamed' | 'open' | 'ended'
  whole: WholeText
  balance: JsonBalance
}

/**
 * Tool calls from deltas as providers really send them: by index; all under index 0 with different ids; without an
 * index; the id or the name late, twice or never; arguments whole, in pieces, or as an object. A call ends when another
 * thing begins and its arguments are complete JSON, at the latest with the answer.
 */
export class ToolCallReader {
  readonly #calls: Call[] = []
  readonly #byIndex = new Map<unknown, Call>()
  readonly #byId = new Map<string, Call>()
  readonly #ids = new Set<string>()
  /** Open calls with arguments that came since the last interruption. */
  readonly #grown = new Set<Call>()

  /** Whether any call was made. */
  get any(): boolean {
    return this.#ids.size > 0
  }

  /** Whether every call's arguments are JSON: a sign that a stream without an end was not cut in one. */
  get complete(): boolean {
    return this.#calls.every(({ text }) => text === '' || parseJson(text) !== undefined)
  }

  delta(given: unknown): Chunk[] {
    const delta = objectOf(given)
    const called = objectOf(delta['function'])
    const id = textOf(delta['id'])
    const name = textOf(called['name'])
    const chunks: Chunk[] = []
    const call = this.#find(delta['index'], id, name) ?? this.#begin(delta['index'], chunks)
    if (call.state === 'unnamed') {
      if (call.id === '' && id !== '') this.#byId.set((call.id = id), call)
      call.name ||= name
    }
    call.waiting += argumentsOf(called)
    call.signature ||= readCallSignature(delta)
    if (call.state === 'unnamed' && call.name !== '' && call.id !== '') this.#announce(call, chunks)
    this.#flush(call, chunks)
    return chunks
  }

  /** Text or reasoning came: what is complete has ended. */
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
    // Another id with a name under the same index is another call; providers that send index 0 for all do that.
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
    // Calls whose provider gives no id, or two calls the same one, still need one each.
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
    // A call without arguments has none, which in JSON is an empty object.
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

function argumentsOf(called: Json): string {
  const given = called['arguments']
  if (typeof given === 'string') return given
  return typeof given === 'object' && given !== null ? JSON.stringify(given) : ''
}
