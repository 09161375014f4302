import type { Work } from '../bounded/work.ts'
import type { CharSet, Node } from './syntax.ts'

/**
 * Runs a pattern over UTF-8 bytes as an automaton that is made deterministic lazily (Thompson's construction, as in
 * RE2): one table lookup per byte for any pattern. States are cached and dropped if there are too many, so time is
 * linear and memory bounded.
 */
export interface Automaton {
  /**
   * The end of the first matching line from `from` on (its line break, or `end`), or -1. `from` must be a line start. A
   * cached byte costs an eighth of a step, a new one as many as its states. Throws `TooMuchWork`.
   */
  next(bytes: Uint8Array, from: number, end: number, work: Work): number
}

type Where = Extract<Node, { kind: 'at' }>['where']
type State =
  | { on: 'bytes'; low: number; high: number; set: Uint8Array | null; to: number }
  | { on: 'split'; to: number[] }
  | { on: 'where'; where: Where; to: number }
  | { on: 'match' }

const MAX_STATES = 20_000
const MAX_KEPT = 4_096
/** State members in total: 4 MB. */
const MAX_MEMBERS = 1 << 20

/** Null if the pattern needs too many states or has sets with only some characters beyond ASCII. */
export function automatonOf(node: Node, fold: boolean, asciiOnly: boolean): Automaton | null {
  const states: State[] = []
  function add(state: State): number {
    if (states.length >= MAX_STATES) throw new TooHard()
    return states.push(state) - 1
  }
  const split = (to: number[]): number => (to.length === 1 ? to[0]! : add({ on: 'split', to }))
  const range = (low: number, high: number, to: number): number => add({ on: 'bytes', low, high, set: null, to })
  const exactly = (bytes: Uint8Array, to: number): number =>
    bytes.reduceRight((next, byte) => range(byte, byte, next), to)

  try {
    const match = add({ on: 'match' })
    return new LazyAutomaton(states, build(node, match))
  } catch (error) {
    if (error instanceof TooHard) return null
    throw error
  }

  function build(one: Node, to: number): number {
    switch (one.kind) {
      case 'char':
        return split(variants(one.code, fold).map((code) => exactly(Buffer.from(String.fromCodePoint(code)), to)))
      case 'set':
        return fromSet(one.set, to)
      case 'cat':
        return one.of.reduceRight((next, part) => build(part, next), to)
      case 'alt':
        return split(one.of.map((part) => build(part, to)))
      case 'at':
        return add({ on: 'where', where: one.where, to })
      case 'repeat': {
        let next = to
        if (one.max === Infinity) {
          const loop = add({ on: 'split', to: [] })
          ;(states[loop] as { to: number[] }).to = [build(one.of, loop), to]
          next = loop
        } else for (let i = one.min; i < one.max; i++) next = split([build(one.of, next), to])
        for (let i = 0; i < one.min; i++) next = build(one.of, next)
        return next
      }
    }
  }

  function fromSet({ ascii, not, beyond }: CharSet, to: number): number {
    if (beyond === 'some' && !asciiOnly) throw new TooHard()
    const set = new Uint8Array(256)
    const more: number[] = []
    for (let code = 0; code < 128; code++)
      if (ascii[code])
        for (const variant of variants(code, fold))
          if (variant < 128) set[variant] = 1
          else if (!not) more.push(exactly(Buffer.from(String.fromCodePoint(variant)), to))
          // All but one character beyond ASCII.
          else if (!asciiOnly) throw new TooHard()
    if (not) for (let code = 0; code < 128; code++) set[code] = 1 - set[code]!
    set[10] = 0
    const ways = [add({ on: 'bytes', low: 0, high: 127, set, to }), ...more]
    if (beyond === 'all') {
      // One character beyond ASCII: two to four bytes (RFC 3629).
      const last = range(0x80, 0xbf, to)
      const third = range(0x80, 0xbf, last)
      ways.push(range(0xc2, 0xdf, last), range(0xe0, 0xef, third), range(0xf0, 0xf4, range(0x80, 0xbf, third)))
    }
    return split(ways)
  }
}

class TooHard extends Error {}

export function variants(code: number, fold: boolean): number[] {
  if (!fold) return [code]
  const forms = new Set([code])
  for (const form of forms) {
    const char = String.fromCodePoint(form)
    for (const other of [char.toLowerCase(), char.toUpperCase()])
      if (String.fromCodePoint(other.codePointAt(0)!) === other) forms.add(other.codePointAt(0)!)
    // Unicode folds the long s and the Kelvin sign to ASCII letters.
    if (form === 115) forms.add(0x17f)
    if (form === 107) forms.add(0x212a)
  }
  return [...forms]
}

const isWordByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number((byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || byte === 95 || (byte >= 97 && byte <= 122)),
)
const MATCHED = -2
const UNKNOWN = -1
const LINE_BREAK = 10
/** Steps per new state besides its members. */
const STEP_COST = 16

type Before = 0 | 1 | 2
const START: Before = 0
const WORD: Before = 1

class LazyAutomaton implements Automaton {
  readonly #states: readonly State[]
  readonly #first: number
  /** By cached state. */
  #members: Int32Array[] = []
  #befores: Before[] = []
  #statesByKey = new Map<string, number>()
  #keptMembers = 0
  /** The next state for each cached state and byte. */
  #table = new Int32Array(0)
  readonly #visitedAt: Uint32Array
  #round = 0
  readonly #stack: Int32Array
  /** One bit per state after the current byte. */
  readonly #after: Uint32Array
  readonly #list: Uint16Array
  readonly #listBytes: Buffer

  constructor(states: readonly State[], first: number) {
    this.#states = states
    this.#first = first
    this.#visitedAt = new Uint32Array(states.length)
    this.#stack = new Int32Array(states.reduce((sum, state) => sum + (state.on === 'split' ? state.to.length : 1), 1))
    this.#after = new Uint32Array((states.length >> 5) + 1)
    this.#list = new Uint16Array(states.length + 1)
    this.#listBytes = Buffer.from(this.#list.buffer)
    this.#forget()
  }

  next(bytes: Uint8Array, from: number, end: number, work: Work): number {
    let state = 0
    let at = from
    let here = this.#table
    while (at < end) {
      const byte = bytes[at]!
      let next = here[state * 256 + byte]!
      if (next < 0) {
        if (next === UNKNOWN) {
          const before = this.#members
          next = this.#step(state, byte, work)
          // If the cache was cleared meanwhile, this row belongs to another state.
          if (this.#members === before) this.#table[state * 256 + byte] = next
          here = this.#table
        }
        if (next === MATCHED) {
          work.spend(1 + ((at - from) >> 3))
          const stop = bytes.indexOf(LINE_BREAK, at)
          return stop < 0 || stop > end ? end : stop
        }
      }
      state = next
      at++
    }
    work.spend(1 + ((at - from) >> 3))
    // The end of text ends its last line unless that is empty.
    if (end > from && bytes[end - 1] === LINE_BREAK) return -1
    return this.#step(state, LINE_BREAK, work) === MATCHED ? end : -1
  }

  /** The state after `byte`. A match may start anywhere, so the first state is always added. */
  #step(from: number, byte: number, work: Work): number {
    const states = this.#states
    const visitedAt = this.#visitedAt
    const stack = this.#stack
    const after = this.#after
    const before = this.#befores[from]!
    const inside = this.#members[from]!
    const round = this.#nextRound()
    let steps = 0
    for (let i = -1; i < inside.length; i++) {
      let depth = 0
      stack[depth++] = i < 0 ? this.#first : inside[i]!
      while (depth > 0) {
        const at = stack[--depth]!
        if (visitedAt[at] === round) continue
        visitedAt[at] = round
        steps++
        const state = states[at]!
        if (state.on === 'match') {
          after.fill(0)
          work.spend(steps)
          return MATCHED
        }
        if (state.on === 'split') for (const to of state.to) stack[depth++] = to
        else if (state.on === 'where') {
          if (holds(state.where, before, byte)) stack[depth++] = state.to
        } else if (byte >= state.low && byte <= state.high && (state.set === null || state.set[byte] === 1))
          after[state.to >> 5]! |= 1 << (state.to & 31)
      }
    }
    const count = this.#listStates()
    work.spend(STEP_COST + steps + count)
    if (byte === LINE_BREAK) return 0
    if (this.#members.length >= MAX_KEPT || this.#keptMembers >= MAX_MEMBERS) this.#forget()
    return this.#keep(count, isWordByte[byte] === 1 ? WORD : 2)
  }

  #nextRound(): number {
    if (++this.#round === 0xffff_ffff) {
      this.#visitedAt.fill(0)
      this.#round = 1
    }
    return this.#round
  }

  #listStates(): number {
    const after = this.#after
    const list = this.#list
    let count = 0
    for (let word = 0; word < after.length; word++) {
      for (let bits = after[word]!; bits !== 0; bits &= bits - 1)
        list[++count] = (word << 5) + 31 - Math.clz32(bits & -bits)
      after[word] = 0
    }
    return count
  }

  #keep(count: number, before: Before): number {
    const list = this.#list
    list[0] = before
    const key = this.#listBytes.toString('utf16le', 0, (count + 1) * 2)
    const existing = this.#statesByKey.get(key)
    if (existing !== undefined) return existing
    const members = this.#members
    const id = members.length
    members.push(Int32Array.from(list.subarray(1, count + 1)))
    this.#befores.push(before)
    this.#statesByKey.set(key, id)
    this.#keptMembers += count
    if (members.length * 256 > this.#table.length) {
      const larger = new Int32Array(this.#table.length * 2).fill(UNKNOWN)
      larger.set(this.#table)
      this.#table = larger
    }
    return id
  }

  #forget(): void {
    this.#members = []
    this.#befores = []
    this.#statesByKey = new Map()
    this.#keptMembers = 0
    this.#table = new Int32Array(64 * 256).fill(UNKNOWN)
    this.#keep(0, START)
  }
}

function holds(where: Where, before: Before, byte: number): boolean {
  const isEdge = (before === WORD) !== (isWordByte[byte] === 1)
  switch (where) {
    case 'line start':
      return before === START
    case 'line end':
      return byte === LINE_BREAK
    case 'word edge':
      return isEdge
    case 'no word edge':
      return !isEdge
  }
}
