import type { Problem } from '../problem.ts'
import type { Citation } from '../../model/canonical-request.ts'
import type { AnswerAbout } from '../../model/answer-about.ts'
import type { Opaque } from '../shared/envelope.ts'
import { EventWriter, type Finish, type ContentChunk } from '../streams/event-writer.ts'
import type { Json } from '../../model/json.ts'
import { type ItemChunk, OneAtATime } from '../streams/one-at-a-time.ts'
import { annotationsOf, callItem, Items, messageItem, pictureItem, textPart } from './write-items.ts'
import { beginResponse, codeOf, incompleteReason, endResponse, failResponse } from './write-response.ts'

interface Open {
  index: number
  item: Json
  words: string
  from: number
  annotations: Json[]
}

const isCall = ({ type }: Json): boolean => type === 'function_call' || type === 'custom_tool_call'

/**
 * Every event is numbered, every item is added before its first content and done after its last. A response that breaks
 * off is reported as failed; a stream that this writer didn't start ends with a bare `error` event.
 */
export class StreamWriter extends EventWriter {
  readonly #response: Json
  readonly #items: Items
  readonly #order = new OneAtATime()
  #number = 0
  readonly #output: Json[] = []
  /** The items as JSON: long answers have 80,000, and encoding them again for the last event would take 36 ms. */
  readonly #written: string[] = []
  #open: Open | null = null
  #said = 0

  constructor(about: AnswerAbout) {
    super()
    this.#response = beginResponse(about)
    this.#items = new Items(about)
  }

  get output(): readonly Json[] {
    return this.#output
  }

  protected opening(): string {
    const response = this.#response
    return this.#event('response.created', { response }) + this.#event('response.in_progress', { response })
  }

  protected say(chunk: ContentChunk): string {
    return this.#tell(this.#order.push(chunk))
  }

  protected closing({ reason }: Finish): string {
    const rest = this.#tell(this.#order.rest())
    // Clients look for a message even in an empty answer.
    const empty = this.#written.length === 0 ? this.#openMessage() : ''
    const closingEvents = this.#close(null, incompleteReason(reason) === null ? 'completed' : 'incomplete')
    const type = incompleteReason(reason) === null ? 'response.completed' : 'response.incomplete'
    return rest + empty + closingEvents + this.#last(type, endResponse(this.#response, reason, this.usage))
  }

  /** Keeps received text. A call without its end is never reported as complete. */
  protected breaking(problem: Problem): string {
    if (!this.began)
      return this.#event('error', { code: codeOf(problem), message: problem.message, param: problem.param })
    const openItem = this.#open
    if (openItem !== null && isCall(openItem.item))
      this.#keep(openItem.index, { ...openItem.item, status: 'incomplete' })
    const closingEvents = openItem === null || isCall(openItem.item) ? '' : this.#close(null, 'incomplete')
    return closingEvents + this.#last('response.failed', failResponse(this.#response, problem, this.usage))
  }

  #tell(pieces: readonly ItemChunk[]): string {
    return pieces.map((piece) => this.#piece(piece)).join('')
  }

  #piece(piece: ItemChunk): string {
    switch (piece.type) {
      case 'text':
        return this.begin() + this.#text(piece.text)
      case 'citation':
        return this.#annotation(piece.citation)
      case 'reasoning':
        return this.begin() + this.#thought(piece.text)
      case 'reasoning_end': {
        const begin = this.begin()
        const open = this.#open?.item['type'] === 'reasoning' ? '' : this.#close() + this.#openThought()
        return begin + open + this.#close(piece)
      }
      case 'tool_call_start':
        return this.begin() + this.#close() + this.#add(this.#items.call(piece.id, piece.name))
      case 'tool_call_delta':
        return this.#callDelta(piece.delta)
      case 'tool_call_end':
        return this.#callEnd()
      case 'image':
        return piece.source.kind === 'url' ? '' : this.begin() + this.#close() + this.#picture(piece.source.data)
    }
  }

  #text(delta: string): string {
    const open = this.#open?.item['type'] === 'message' ? '' : this.#close() + this.#openMessage()
    const { index, item } = this.#open!
    this.#open!.words += delta
    this.#said += delta.length
    const at = { item_id: item['id'], output_index: index, content_index: 0 }
    return open + this.#event('response.output_text.delta', { ...at, delta, logprobs: [] })
  }

  /** A citation after its message has no place anymore. */
  #annotation(citation: Citation): string {
    const saying = this.#open
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
    const text = this.#add(this.#items.message())
    const { index, item } = this.#open!
    const at = { item_id: item['id'], output_index: index, content_index: 0 }
    return text + this.#event('response.content_part.added', { ...at, part: textPart('') })
  }

  #thought(delta: string): string {
    let text = this.#open?.item['type'] === 'reasoning' ? '' : this.#close() + this.#openThought()
    const saying = this.#open!
    const at = { item_id: saying.item['id'], output_index: saying.index, summary_index: 0 }
    if (saying.words === '')
      text += this.#event('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } })
    saying.words += delta
    return text + this.#event('response.reasoning_summary_text.delta', { ...at, delta })
  }

  #openThought(): string {
    return this.#add(this.#items.reasoning())
  }

  #close(opaque: Opaque | null = null, status = 'completed'): string {
    const saying = this.#open
    if (saying === null) return ''
    this.#open = null
    const { index, item, words, annotations } = saying
    const at = { item_id: item['id'], output_index: index }
    if (item['type'] === 'message') {
      const here = { ...at, content_index: 0 }
      return (
        this.#event('response.output_text.done', { ...here, text: words, logprobs: [] }) +
        this.#event('response.content_part.done', { ...here, part: textPart(words, annotations) }) +
        this.#done(index, { ...messageItem(item, words, annotations), status })
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

  #callDelta(delta: string): string {
    const open = this.#open!
    if (delta === '') return ''
    open.words += delta
    if (open.item['type'] === 'custom_tool_call') return ''
    const at = { item_id: open.item['id'], output_index: open.index }
    return this.#event('response.function_call_arguments.delta', { ...at, delta })
  }

  #callEnd(): string {
    const { index, words, item: startedItem } = this.#open!
    this.#open = null
    const item = callItem(startedItem, words)
    const at = { item_id: item['id'], output_index: index }
    if (item['type'] === 'custom_tool_call') {
      const { input } = item
      const delta = input === '' ? '' : this.#event('response.custom_tool_call_input.delta', { ...at, delta: input })
      return delta + this.#event('response.custom_tool_call_input.done', { ...at, input }) + this.#done(index, item)
    }
    const doneEvent = { ...at, name: item['name'], arguments: item['arguments'] }
    return this.#event('response.function_call_arguments.done', doneEvent) + this.#done(index, item)
  }

  #picture(data: string): string {
    const addedEvents = this.#add(this.#items.picture())
    const { index, item } = this.#open!
    this.#open = null
    const at = { item_id: item['id'], output_index: index }
    return (
      addedEvents +
      this.#event('response.image_generation_call.completed', at) +
      this.#done(index, pictureItem(item, data))
    )
  }

  #add(item: Json): string {
    const index = this.#written.push('') - 1
    this.#open = { index, item, words: '', from: this.#said, annotations: [] }
    return this.#event('response.output_item.added', { output_index: index, item })
  }

  #done(index: number, item: Json): string {
    const type = 'response.output_item.done'
    return event(
      type,
      `{"type":"${type}","sequence_number":${this.#number++},"output_index":${index},"item":${this.#keep(index, item)}}`,
    )
  }

  #keep(index: number, item: Json): string {
    this.#output[index] = item
    return (this.#written[index] = JSON.stringify(item))
  }

  #last(type: string, ending: Json): string {
    const response = { ...ending, output: undefined }
    const head = JSON.stringify({ type, sequence_number: this.#number++, response }).slice(0, -2)
    return event(type, `${head},"output":[${this.#written.join()}]}}`)
  }

  #event(type: string, fields: Json): string {
    return event(type, JSON.stringify({ type, sequence_number: this.#number++, ...fields }))
  }
}

const event = (type: string, data: string): string => `event: ${type}\ndata: ${data}\n\n`
