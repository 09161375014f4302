import type { Connector } from './connector.ts'
import { type Idle, Lane } from './lane.ts'
import type { Send } from '../send.ts'

const CONNECTIONS = 1_024
/**
 * Limits for lanes and idle connections, which grow with parties and user-provided origins. The least recently used are
 * closed.
 */
const MAX: Most = { lanes: 4_096, idle: 1_024 }
/** The share kept after cleanup, so the next one isn't due immediately. */
const KEEP_SHARE = 0.9
/** An empty lane keeps its TLS session, which servers accept for some minutes. */
const EMPTY_MS = 300_000
const HTTPS_IDLE_MS = 55_000
/** Plain HTTP servers of local engines close idle connections after 5 s without announcing it. */
const HTTP_IDLE_MS = 4_000

interface Most {
  lanes: number
  idle: number
}
type ByOrigin = Map<string, Map<string, Map<string, Lane>>>
interface Place {
  root: ByOrigin
  origin: string
  credential: string
  party: string
}

export class Lanes {
  readonly #connector: (origin: URL, mayBePrivate: boolean) => Connector
  readonly #checkedLanes: ByOrigin = new Map()
  readonly #uncheckedLanes: ByOrigin = new Map()
  readonly #all = new Map<Lane, Place>()
  readonly #mostLanes: number
  readonly #idle: Idle

  constructor(connector: (origin: URL, mayBePrivate: boolean) => Connector, most = MAX) {
    this.#connector = connector
    this.#mostLanes = most.lanes
    this.#idle = { count: 0, most: most.idle, shed: () => this.#shed() }
  }

  get size(): number {
    return this.#all.size
  }

  of({ origin, credential, party, mayBePrivate = false }: Send): Lane {
    const root = mayBePrivate ? this.#uncheckedLanes : this.#checkedLanes
    // Existing strings are the keys, so a lookup allocates nothing.
    return root.get(origin)?.get(credential)?.get(party) ?? this.#open({ root, origin, credential, party })
  }

  turn(ms: number): void {
    for (const lane of this.#all.keys()) {
      lane.turn(ms)
      if (lane.connections === 0 && lane.isIdle && lane.unusedMs >= EMPTY_MS) this.#drop(lane)
    }
  }

  destroy(): void {
    for (const lane of this.#all.keys()) lane.destroy()
  }

  #open(place: Place): Lane {
    if (this.#all.size >= this.#mostLanes) this.#evict()
    const { root, origin, credential, party } = place
    const url = new URL(origin)
    const lane = new Lane(url.host, {
      connect: this.#connector(url, root === this.#uncheckedLanes),
      mostConnections: CONNECTIONS,
      idleMs: url.protocol === 'https:' ? HTTPS_IDLE_MS : HTTP_IDLE_MS,
      idle: this.#idle,
    })
    const byCredential = root.get(origin) ?? new Map<string, Map<string, Lane>>()
    const byParty = byCredential.get(credential) ?? new Map<string, Lane>()
    root.set(origin, byCredential.set(credential, byParty.set(party, lane)))
    this.#all.set(lane, place)
    return lane
  }

  #evict(): void {
    for (const lane of this.#oldestFirst()) {
      if (this.#all.size < this.#mostLanes * KEEP_SHARE) return
      if (lane.isIdle) this.#drop(lane)
    }
  }

  #shed(): void {
    for (const lane of this.#oldestFirst()) {
      const over = this.#idle.count - Math.floor(this.#idle.most * KEEP_SHARE)
      if (over <= 0) return
      lane.shed(over)
    }
  }

  #oldestFirst(): Lane[] {
    return [...this.#all.keys()].toSorted((a, b) => b.unusedMs - a.unusedMs)
  }

  #drop(lane: Lane): void {
    const { root, origin, credential, party } = this.#all.get(lane)!
    this.#all.delete(lane)
    lane.destroy()
    const byCredential = root.get(origin)!
    const byParty = byCredential.get(credential)!
    byParty.delete(party)
    if (byParty.size === 0) byCredential.delete(credential)
    if (byCredential.size === 0) root.delete(origin)
  }
}
