import type { Said } from './event-writer.ts'

/** Pieces that become items of their own, one after the other. */
export type Itemised = Exclude<Said, { type: 'audio' }>

interface Item {
  /** Words go on until something else begins, a call until its end is told. */
  of: 'text' | 'reasoning' | 'image' | { call: string }
  waiting: Itemised[]
  /** The last waiting piece, where it was joined from several. */
  joined: Itemised | null
  done: boolean
}

/**
 * Pieces of an answer in the order in which one item after the other can be told: the first unfinished item comes as it
 * is said, and what arrives for a later one waits until that is over. Clients with one current item run a call without
 * its arguments, or lose words, where two overlap; a vendor's own streams never do.
 */
export class OneAtATime {
  /** Items of which those before `#first` are over. */
  #queue: Item[] = []
  #first = 0
  readonly #calls = new Map<string, Item>()

  /** The chunks that can be told now. */
  push(piece: Said): Itemised[] {
    switch (piece.type) {
      case 'text':
      case 'reasoning':
        if (piece.text !== '') append(this.#saying(piece.type), piece)
        break
      case 'reasoning_end': {
        const thought = this.#saying('reasoning')
        thought.waiting.push(piece)
        thought.done = true
        break
      }
      case 'citation': {
        const last = this.#queue.at(-1)
        // One that comes behind its text has no place any more.
        if (last?.of === 'text' && !last.done) last.waiting.push(piece)
        break
      }
      // Shapes with one current item have no place for it in an answer.
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

  /** Nothing more comes: all that waits, with an end to each call that had none. */
  rest(): Itemised[] {
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

  #ready(): Itemised[] {
    const ready: Itemised[] = []
    for (let item = this.#queue[this.#first]; item; item = this.#queue[this.#first]) {
      // One by one: as arguments of a call they would be too many.
      for (const piece of item.waiting.splice(0)) ready.push(piece)
      item.joined = null
      if (!item.done) break
      this.#first++
    }
    // What is over is dropped many at a time: one by one, each would move all the others.
    if (2 * this.#first >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#first)
      this.#first = 0
    }
    return ready
  }
}

/** Pieces that wait are joined: an item may come in any number of them, and all are written at once when its turn comes. */
function append(item: Item, piece: Joinable): void {
  const { waiting } = item
  const last = waiting.at(-1)
  if (last?.type !== piece.type) return void waiting.push(piece)
  // A copy, once: others hold the piece as it came.
  if (last !== item.joined) waiting[waiting.length - 1] = item.joined = { ...last }
  const joined = item.joined
  if (joined.type === 'tool_call_delta' && piece.type === 'tool_call_delta') joined.delta += piece.delta
  else if (joined.type !== 'tool_call_delta' && piece.type !== 'tool_call_delta') joined.text += piece.text
}

type Joinable = Extract<Itemised, { type: 'text' | 'reasoning' | 'tool_call_delta' }>
