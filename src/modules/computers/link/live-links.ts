import type { Engine } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import { keepAlive } from '#daemon-protocol/heartbeat.ts'
import type { DaemonHello } from '#daemon-protocol/hello.ts'
import { CLOSE, type Mux } from '#daemon-protocol/mux.ts'
import { type Machine, endedLinks } from '../pairing/credentials.ts'
import { type LinkName, noteDead, noteHeard, noteLinked, noteUnlinked, noteUsed } from './state.ts'

const CHECK_MS = 2_000
const NOTE_MS = 15_000
/** The topic on the bus that says: a computer was linked to some process, and to which epoch. */
const LINKED = 'computer_linked'

export interface LiveLink extends LinkName, Machine {
  mux: Mux
  /** `mux.heard` when it was noted last. */
  noted: number
  /** Whether something was asked of it since that was noted last. */
  asked: boolean
  /** The number of streams that go on over another link. */
  movable: number
}

/**
 * The codes with which a link ends whose daemon wants it again at once. All other ends are a daemon's that leaves, or
 * one that was shown out.
 */
const COMES_BACK: ReadonlySet<number> = new Set([CLOSE.lost, CLOSE.restart])

/** The links that this process holds, at most one per computer. */
export class LiveLinks implements AsyncDisposable {
  readonly #engine: Engine
  readonly #links = new Map<Id, LiveLink>()
  readonly #timers: NodeJS.Timeout[]
  readonly #heard: Disposable[]
  readonly #waiting = new Map<Id, Set<() => void>>()
  readonly #notes = new Set<Promise<void>>()
  /** Resolves once the signs of life that were heard last are noted. */
  #hearing = Promise.resolve()
  #checking = false
  #draining = false
  #over = false

  constructor(engine: Engine) {
    this.#engine = engine
    const { bus } = engine
    this.#timers = [
      setInterval(() => void this.#check(), CHECK_MS),
      setInterval(() => this.#note(this.#noteAll()), NOTE_MS),
    ]
    for (const timer of this.#timers) timer.unref()
    // A killed process before this one may have left links in its rows.
    this.#note(noteDead(engine))
    this.#heard = [
      // A credential was rotated, or a computer deleted.
      bus.on('computers', () => void this.#check()),
      bus.hear(LINKED, (words) => {
        const [id, epoch] = words.split(' ') as [Id, string]
        this.#replace(id, Number(epoch))
        for (const wake of this.#waiting.get(id) ?? []) wake()
      }),
    ]
  }

  get(computerId: Id): LiveLink | undefined {
    return this.#links.get(computerId)
  }

  held(): Id[] {
    return [...this.#links.keys()]
  }

  /** Whether this process takes no further links. */
  get draining(): boolean {
    return this.#draining
  }

  /** Whether this process holds no links any more, and asks for nothing. */
  get over(): boolean {
    return this.#over
  }

  /**
   * Adds a link whose daemon sent HELLO. `greet` sends the server's HELLO with the link's epoch, before any call can use
   * the link. False: a newer link was faster, or the computer was deleted.
   */
  async add(machine: Machine, mux: Mux, hello: DaemonHello, greet: (epoch: number) => void): Promise<boolean> {
    const { computerId } = machine
    const epoch = await noteLinked(this.#engine, this.#engine.processId, computerId, hello)
    if (epoch === null || mux.closed || this.#draining) {
      if (epoch !== null) await noteUnlinked(this.#engine, { computerId, epoch }, { lost: true })
      return false
    }
    if ((this.#links.get(computerId)?.epoch ?? -1) > epoch) return false
    this.#links.get(computerId)?.mux.close(CLOSE.replaced, 'the computer opened a new connection')
    greet(epoch)
    this.#links.set(computerId, { ...machine, epoch, mux, noted: mux.heard, asked: false, movable: 0 })
    keepAlive(mux, { answers: true })
    // Older ones in other processes close, and whoever waits for the computer hears of it.
    this.#engine.bus.send(LINKED, `${computerId} ${epoch}`)
    return true
  }

  /** Says that a link that was added is over. `code`: one of `CLOSE`, or of WebSocket's own. */
  gone(mux: Mux, computerId: Id, code: number): void {
    const link = this.#links.get(computerId)
    if (link?.mux !== mux) return
    this.#links.delete(computerId)
    // The end comes behind what may be noted of the link now: else it would be taken for live again.
    this.#note(this.#hearing.then(() => noteUnlinked(this.#engine, link, { lost: COMES_BACK.has(code) })))
  }

  /** Wakes when the computer may have been linked to any process, after `ms` at the latest. */
  linked(computerId: Id, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(computerId) ?? new Set()
      this.#waiting.set(computerId, waiting)
      const wake = (): void => {
        clearTimeout(timer)
        waiting.delete(wake)
        if (waiting.size === 0) this.#waiting.delete(computerId)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      waiting.add(wake)
    })
  }

  #replace(computerId: Id, epoch: number): void {
    const link = this.#links.get(computerId)
    if (link !== undefined && link.epoch < epoch) link.mux.close(CLOSE.replaced, 'the computer opened a new connection')
  }

  /** Ends links whose credential has ended, or in whose place there is a newer one. */
  async #check(): Promise<void> {
    if (this.#checking) return
    this.#checking = true
    try {
      for (const { computerId, credentialId, replaced } of await endedLinks(this.#engine.postgres.db, [
        ...this.#links.values(),
      ])) {
        const link = this.#links.get(computerId)
        if (link?.credentialId !== credentialId) continue
        if (replaced) link.mux.close(CLOSE.replaced, 'the computer opened a new connection')
        else link.mux.close(CLOSE.unauthorized, 'the credential is no longer valid')
      }
      await this.#noteUse()
    } catch (error) {
      this.#engine.log.warn({ error }, 'links of computers were not checked')
    } finally {
      this.#checking = false
    }
  }

  /** Notes the computers that were asked for something since the last look, or still do it. */
  async #noteUse(): Promise<void> {
    const used = [...this.#links.values()].filter(({ mux, asked }) => mux.streams > 0 || asked)
    for (const link of used) link.asked = false
    if (used.length > 0) await noteUsed(this.#engine, used)
  }

  async #noteAll(): Promise<void> {
    const heard = [...this.#links.values()].filter(({ mux, noted }) => mux.heard !== noted)
    for (const link of heard) link.noted = link.mux.heard
    if (heard.length > 0) {
      const noted = noteHeard(this.#engine, this.#engine.processId, heard)
      this.#hearing = noted.catch(() => {})
      await noted
    }
    await noteDead(this.#engine)
  }

  #note(work: Promise<void>): void {
    const noted = work
      .catch((error: unknown) => this.#engine.log.warn({ error }, 'the state of a link was not noted'))
      .finally(() => this.#notes.delete(noted))
    this.#notes.add(noted)
  }

  /**
   * Sends daemons to another process, or back when there is one: those in use once they are not, the others now. A
   * stream that can go on over another link keeps none here: a command in the background may last for days.
   */
  drain(): void {
    if (this.#draining) return
    this.#draining = true
    const closeIdle = (): void => {
      for (const { mux, movable } of this.#links.values())
        if (mux.streams <= movable) mux.close(CLOSE.restart, 'the server is restarting')
    }
    closeIdle()
    this.#timers.push(setInterval(closeIdle, 100).unref())
  }

  /** Ends all links now; calls that wait for a computer wait in vain. */
  end(): void {
    this.#draining = this.#over = true
    for (const waiting of this.#waiting.values()) for (const wake of waiting) wake()
    for (const { mux } of this.#links.values()) mux.close(CLOSE.restart, 'the server is restarting')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end()
    for (const timer of this.#timers) clearInterval(timer)
    for (const heard of this.#heard) heard[Symbol.dispose]()
    while (this.#notes.size > 0) await Promise.all(this.#notes)
  }
}
