import type { Problem } from '../../problem.ts'
import type { Citation } from '../../turn.ts'
import type { AnswerAbout } from '../about.ts'
import type { Opaque } from '../envelope.ts'
import { EventWriter, type Finish, type Said } from '../event-writer.ts'
import type { Json } from '../json.ts'
import { annotationsOf, called, Items, said, textPart } from './write-items.ts'
import { begun, codeOf, cutBy, ended, failed } from './write-response.ts'

interface Open {
  index: number
  item: Json
  words: string
  /** Where its text begins in the answer's, and what it stands on. */
  from: number
  annotations: Json[]
}

/**
 * Chunks as the events of a streamed response: every one numbered, every item added before its first word and done
 * after its last. A response that breaks off is told to have failed; a stream that was not begun by this writer breaks
 * off with a bare `error` event.
 */
export class StreamWriter extends EventWriter {
  readonly keepAlive = ': keep-alive\n\n'
  readonly #response: Json
  readonly #items: Items
  #number = 0
  #output: Json[] = []
  /** The message or thought that is being said; calls may be open beside it. */
  #saying: Open | null = null
  readonly #calls = new Map<string, Open>()
  /** Characters of text so far. */
  #said = 0

  constructor(about: AnswerAbout) {
    super()
    this.#response = begun(about)
    this.#items = new Items(about)
  }

  protected opening(): string {
    const response = this.#response
    return this.#event('response.created', { response }) + this.#event('response.in_progress', { response })
  }

  protected say(chunk: Said): string {
    switch (chunk.type) {
      case 'text':
        return chunk.text === '' ? '' : this.begin() + this.#text(chunk.text)
      case 'citation':
        return this.#annotation(chunk.citation)
      case 'reasoning':
        return chunk.text === '' ? '' : this.begin() + this.#thought(chunk.text)
      case 'reasoning_end': {
        const begin = this.begin()
        const open = this.#saying?.item['type'] === 'reasoning' ? '' : this.#close() + this.#openThought()
        return begin + open + this.#close(chunk)
      }
      case 'tool_call_start': {
        const begin = this.begin() + this.#close()
        const { open, text } = this.#add(this.#items.call(chunk.id, chunk.name))
        this.#calls.set(chunk.id, open)
        return begin + text
      }
      case 'tool_call_delta':
        return this.#callDelta(chunk.id, chunk.delta)
      case 'tool_call_end':
        return this.#callEnd(chunk.id)
    }
  }

  protected closing({ reason }: Finish): string {
    // Clients look for a message even where nothing was said.
    const empty = this.#output.length === 0 ? this.#openMessage() : ''
    const closed = this.#close(null, cutBy(reason) === null ? 'completed' : 'incomplete') + this.#closeCalls()
    const type = cutBy(reason) === null ? 'response.completed' : 'response.incomplete'
    return empty + closed + this.#event(type, { response: ended(this.#response, reason, this.#output, this.usage) })
  }

  protected breaking(problem: Problem): string {
    if (!this.began)
      return this.#event('error', { code: codeOf(problem), message: problem.message, param: problem.param })
    const closed = this.#close(null, 'incomplete') + this.#closeCalls()
    return (
      closed + this.#event('response.failed', { response: failed(this.#response, problem, this.#output, this.usage) })
    )
  }

  #text(delta: string): string {
    const open = this.#saying?.item['type'] === 'message' ? '' : this.#close() + this.#openMessage()
    const { index, item } = this.#saying!
    this.#saying!.words += delta
    this.#said += delta.length
    const at = { item_id: item['id'], output_index: index, content_index: 0 }
    return open + this.#event('response.output_text.delta', { ...at, delta, logprobs: [] })
  }

  /** One that comes behind its message has no place any more. */
  #annotation(citation: Citation): string {
    const saying = this.#saying
    if (saying?.item['type'] !== 'message') return ''
    return annotationsOf([citation], saying.from)
      .map((annotation) => {
        const at = { item_id: saying.item['id'], output_index: saying.index, content_index: 0 }
        const annotation_index = saying.annotations.push(annotation) - 1
        return this.#event('response.output_text.annotation.added', { ...at, annotation_index, annotation })
      })
      .join('')
  }

  #openMessage(): string {
    const { open, text } = this.#add(this.#items.message())
    this.#saying = open
    const at = { item_id: open.item['id'], output_index: open.index, content_index: 0 }
    return text + this.#event('response.content_part.added', { ...at, part: textPart('') })
  }

  #thought(delta: string): string {
    let text = this.#saying?.item['type'] === 'reasoning' ? '' : this.#close() + this.#openThought()
    const saying = this.#saying!
    const at = { item_id: saying.item['id'], output_index: saying.index, summary_index: 0 }
    if (saying.words === '')
      text += this.#event('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } })
    saying.words += delta
    return text + this.#event('response.reasoning_summary_text.delta', { ...at, delta })
  }

  #openThought(): string {
    const { open, text } = this.#add(this.#items.reasoning())
    this.#saying = open
    return text
  }

  /** The message or thought is over. */
  #close(opaque: Opaque | null = null, status = 'completed'): string {
    const saying = this.#saying
    if (saying === null) return ''
    this.#saying = null
    const { index, item, words, annotations } = saying
    const at = { item_id: item['id'], output_index: index }
    if (item['type'] === 'message') {
      const here = { ...at, content_index: 0 }
      return (
        this.#event('response.output_text.done', { ...here, text: words, logprobs: [] }) +
        this.#event('response.content_part.done', { ...here, part: textPart(words, annotations) }) +
        this.#done(index, { ...said(item, words, annotations), status })
      )
    }
    const here = { ...at, summary_index: 0 }
    const summary =
      words === ''
        ? ''
        : this.#event('response.reasoning_summary_text.done', { ...here, text: words }) +
          this.#event('response.reasoning_summary_part.done', { ...here, part: { type: 'summary_text', text: words } })
    return summary + this.#done(index, this.#items.thought(item, words, opaque ?? {}))
  }

  #callDelta(id: string, delta: string): string {
    const open = this.#calls.get(id)
    if (open === undefined || delta === '') return ''
    open.words += delta
    // Free text shows when all of its JSON is there.
    if (open.item['type'] === 'custom_tool_call') return ''
    const at = { item_id: open.item['id'], output_index: open.index }
    return this.#event('response.function_call_arguments.delta', { ...at, delta })
  }

  #callEnd(id: string): string {
    const open = this.#calls.get(id)
    if (open === undefined) return ''
    this.#calls.delete(id)
    const item = called(open.item, open.words)
    const at = { item_id: item['id'], output_index: open.index }
    if (item['type'] === 'custom_tool_call') {
      const { input } = item
      const delta = input === '' ? '' : this.#event('response.custom_tool_call_input.delta', { ...at, delta: input })
      return (
        delta + this.#event('response.custom_tool_call_input.done', { ...at, input }) + this.#done(open.index, item)
      )
    }
    const done = { ...at, name: item['name'], arguments: item['arguments'] }
    return this.#event('response.function_call_arguments.done', done) + this.#done(open.index, item)
  }

  #closeCalls(): string {
    return [...this.#calls.keys()].map((id) => this.#callEnd(id)).join('')
  }

  #add(item: Json): { open: Open; text: string } {
    const open: Open = { index: this.#output.length, item, words: '', from: this.#said, annotations: [] }
    this.#output.push(item)
    return { open, text: this.#event('response.output_item.added', { output_index: open.index, item }) }
  }

  #done(index: number, item: Json): string {
    this.#output[index] = item
    return this.#event('response.output_item.done', { output_index: index, item })
  }

  #event(type: string, fields: Json): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#number++, ...fields })}\n\n`
  }
}
