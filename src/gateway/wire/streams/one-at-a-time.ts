import type { ContentChunk } from './event-writer.ts'

export type ItemChunk = Exclude<ContentChunk, { type: 'audio' }>

interface Item {
  /** Text lasts until something else starts, a call until its end arrives. */
  of: 'text' | 'reasoning' | 'image' | { call: string }
  waiting: ItemChunk[]
  /** The last waiting chunk, if it was joined from several. */
  joined: ItemChunk | null
  done: boolean
}

/**
 * The first unfinished item passes as it arrives, and chunks of later items wait. Clients that track a single current
 * item would run a call without its arguments, or lose text, when two overlap. Vendors' own streams never overlap.
 */
export class OneAtATime {
  /** Items before `#first` are finished. */
  #queue: Item[] = []
  #first = 0
  readonly #calls = new Map<string, Item>()

  push(piece: ContentChunk): ItemChunk[] {
    switch (piece.type) {
      case 'text':
      case 'reasoning':
        if (piece.text !== '') append(this.#saying(piece.type), piece)
        break
      case 'reasoning_end': {
        const item = this.#saying('reasoning')
        item.waiting.push(piece)
        item.done = true
        break
      }
      case 'citation': {
        const last = this.#queue.at(-1)
        // Reasoning after its text has no place anymore.
        if (last?.of === 'text' && !last.done) last.waiting.push(piece)
        break
      }
      // Shapes with one current item have no place for audio.
      case 'audio':
        break
      case 'image': {
        const picture = this.#begin('image')
        picture.waiting.push(piece)
        picture.done = true
        break
      }
      case 'tool_call_start':
        this.#begin({ call: piece.id }).waiting.push(piece)
        break
      case 'tool_call_delta': {
        const item = this.#calls.get(piece.id)
        if (item !== undefined && piece.delta !== '') append(item, piece)
        break
      }
      case 'tool_call_end':
        this.#endCall(piece.id)
    }
    return this.#ready()
  }

  rest(): ItemChunk[] {
    for (const id of this.#calls.keys()) this.#endCall(id)
    for (const item of this.#queue) item.done = true
    return this.#ready()
  }

  #saying(of: 'text' | 'reasoning'): Item {
    const last = this.#queue.at(-1)
    return last?.of === of && !last.done ? last : this.#begin(of)
  }

  #begin(of: Item['of']): Item {
    const last = this.#queue.at(-1)
    if (typeof last?.of === 'string') last.done = true
    const item: Item = { of, waiting: [], joined: null, done: false }
    if (typeof of === 'object') this.#calls.set(of.call, item)
    this.#queue.push(item)
    return item
  }

  #endCall(id: string): void {
    const item = this.#calls.get(id)
    if (item === undefined) return
    this.#calls.delete(id)
    item.waiting.push({ type: 'tool_call_end', id })
    item.done = true
  }

  #ready(): ItemChunk[] {
    const ready: ItemChunk[] = []
    for (let item = this.#queue[this.#first]; item; item = this.#queue[this.#first]) {
      // One by one: spread as arguments of a call they would exceed the limit.
      for (const piece of item.waiting.splice(0)) ready.push(piece)
      item.joined = null
      if (!item.done) break
      this.#first++
    }
    // Finished items are dropped in bulk; dropping one by one would move all the others each time.
    if (2 * this.#first >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#first)
      this.#first = 0
    }
    return ready
  }
}

/** An item may come in any number of chunks, and all are written at once. */
function append(item: Item, piece: Joinable): void {
  const { waiting } = item
  const last = waiting.at(-1)
  if (last?.type !== piece.type) return void waiting.push(piece)
  // Copies once, because others hold the original chunk.
  if (last !== item.joined) waiting[waiting.length - 1] = item.joined = { ...last }
  const target = item.joined
  if (target.type === 'tool_call_delta' && piece.type === 'tool_call_delta') target.delta += piece.delta
  else if (target.type !== 'tool_call_delta' && piece.type !== 'tool_call_delta') target.text += piece.text
}

type Joinable = Extract<ItemChunk, { type: 'text' | 'reasoning' | 'tool_call_delta' }>
