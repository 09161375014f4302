import type { Stream } from '#packages/mux/stream.ts'
import type { OperationName, Output } from '#daemon-protocol/operations.ts'
import type { Mux, AskedStream } from '#daemon-protocol/link.ts'
import type { Engine } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import { keepAlive } from '#packages/mux/heartbeat.ts'
import type { DaemonHello } from '#daemon-protocol/hello.ts'
import { CLOSE } from '#packages/mux/mux.ts'
import { type Machine, findEndedLinks } from '../pairing/credentials.ts'
import { type LinkName, unlinkDeadProcesses, recordHeartbeats, recordLink, recordUnlink, recordUse } from './state.ts'

const CHECK_MS = 2_000
const NOTE_MS = 15_000
const LINKED = 'computer_linked'

export interface LiveLink extends LinkName, Machine {
  mux: Mux
  storedHeard: number
  asked: boolean
  /** Streams that can continue over another link. */
  movable: number
}

/** Close codes after which the daemon reconnects at once. */
const RECONNECT_CODES: ReadonlySet<number> = new Set([CLOSE.lost, CLOSE.restart])

export class LiveLinks implements AsyncDisposable {
  readonly #engine: Engine
  readonly #links = new Map<Id, LiveLink>()
  readonly #timers: NodeJS.Timeout[]
  readonly #subscriptions: Disposable[]
  readonly #waiters = new Map<Id, Set<() => void>>()
  readonly #notes = new Set<Promise<void>>()
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
    // A killed predecessor may have left links.
    this.#note(unlinkDeadProcesses(engine))
    this.#subscriptions = [
      // A credential was rotated or a computer deleted.
      bus.on('computers', () => void this.#check()),
      bus.hear(LINKED, (words) => {
        const [id, epoch] = words.split(' ') as [Id, string]
        this.#replace(id, Number(epoch))
        for (const wake of this.#waiters.get(id) ?? []) wake()
      }),
    ]
  }

  get(computerId: Id): LiveLink | undefined {
    return this.#links.get(computerId)
  }

  held(): Id[] {
    return [...this.#links.keys()]
  }

  get draining(): boolean {
    return this.#draining
  }

  get over(): boolean {
    return this.#over
  }

  /**
   * `greet` sends the server's HELLO before any call can use the link. False: a newer link won, or the computer was
   * deleted.
   */
  async add(machine: Machine, mux: Mux, hello: DaemonHello, greet: (epoch: number) => void): Promise<boolean> {
    const { computerId } = machine
    const epoch = await recordLink(this.#engine, this.#engine.processId, computerId, hello)
    if (epoch === null || mux.closed || this.#draining) {
      if (epoch !== null) await recordUnlink(this.#engine, { computerId, epoch }, { lost: true })
      return false
    }
    if ((this.#links.get(computerId)?.epoch ?? -1) > epoch) return false
    this.#links.get(computerId)?.mux.close(CLOSE.replaced, 'the computer opened a new connection')
    greet(epoch)
    this.#links.set(computerId, { ...machine, epoch, mux, storedHeard: mux.heard, asked: false, movable: 0 })
    keepAlive(mux, { answers: true })
    // Closes older links elsewhere and wakes waiting calls.
    this.#engine.bus.send(LINKED, `${computerId} ${epoch}`)
    return true
  }

  /** `code`: one of `CLOSE` or a WebSocket code. */
  gone(mux: Mux, computerId: Id, code: number): void {
    const link = this.#links.get(computerId)
    if (link?.mux !== mux) return
    this.#links.delete(computerId)
    // Pending signs of life would mark the link as live again.
    this.#note(this.#hearing.then(() => recordUnlink(this.#engine, link, { lost: RECONNECT_CODES.has(code) })))
  }

  /** Wakes when the computer may have linked to any process, or after `ms`. */
  linked(computerId: Id, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(computerId) ?? new Set()
      this.#waiters.set(computerId, waiters)
      const wake = (): void => {
        clearTimeout(timer)
        waiters.delete(wake)
        if (waiters.size === 0) this.#waiters.delete(computerId)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      waiters.add(wake)
    })
  }

  #replace(computerId: Id, epoch: number): void {
    const link = this.#links.get(computerId)
    if (link !== undefined && link.epoch < epoch) link.mux.close(CLOSE.replaced, 'the computer opened a new connection')
  }

  async #check(): Promise<void> {
    if (this.#checking) return
    this.#checking = true
    try {
      for (const { computerId, credentialId, replaced } of await findEndedLinks(this.#engine.postgres.db, [
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

  async #noteUse(): Promise<void> {
    const used = [...this.#links.values()].filter(({ mux, asked }) => mux.streams > 0 || asked)
    for (const link of used) link.asked = false
    if (used.length > 0) await recordUse(this.#engine, used)
  }

  async #noteAll(): Promise<void> {
    const links = [...this.#links.values()].filter(({ mux, storedHeard }) => mux.heard !== storedHeard)
    for (const link of links) link.storedHeard = link.mux.heard
    if (links.length > 0) {
      const storing = recordHeartbeats(this.#engine, this.#engine.processId, links)
      this.#hearing = storing.catch(() => {})
      await storing
    }
    await unlinkDeadProcesses(this.#engine)
  }

  #note(work: Promise<void>): void {
    const noted = work
      .catch((error: unknown) => this.#engine.log.warn({ error }, 'the state of a link was not noted'))
      .finally(() => this.#notes.delete(noted))
    this.#notes.add(noted)
  }

  /**
   * Idle links move now, others when idle. Streams that can continue over another link don't count: background commands
   * may last for days.
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

  end(): void {
    this.#draining = this.#over = true
    for (const waiters of this.#waiters.values()) for (const wake of waiters) wake()
    for (const { mux } of this.#links.values()) mux.close(CLOSE.restart, 'the server is restarting')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end()
    for (const timer of this.#timers) clearInterval(timer)
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]()
    while (this.#notes.size > 0) await Promise.all(this.#notes)
  }
}

export function withOutput<O extends OperationName>(stream: Stream, output: Promise<Output<O>>): AskedStream<O> {
  return {
    output,
    write: (bytes, channel, offset) => stream.write(bytes, channel, offset),
    event: (event) => stream.event(event),
    taken: () => stream.taken(),
    finish: () => stream.finish(),
    reset: (reason) => stream.reset(reason),
    lose: (reason) => stream.lose(reason),
    [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator](),
  }
}
