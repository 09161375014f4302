import { ApiError } from '#interfaces/client.ts'
import { pause, waitBefore } from './again.ts'
import { queryClient, uk } from './api.ts'

type Event = Awaited<ReturnType<typeof uk.realtime.subscribe>> extends AsyncIterable<infer E> ? E : never
export type Change = Extract<Event, { event: 'change' }>['data']

/**
 * Events for the listener of a channel. `begun`: changes arrive from now on, and earlier reads may be stale; `missed`:
 * unknown changes were missed; `revoked`: the channel can't be read; `lost`: the connection dropped; `again`: it is
 * back and replays missed changes, after a break (`broke`) or a planned close by the server.
 */
export type ChannelEvent =
  | { event: 'change'; change: Change }
  | { event: 'begun'; missed: boolean }
  | { event: 'revoked' }
  | { event: 'lost' }
  | { event: 'again'; broke: boolean }
export type Listener = (heard: ChannelEvent) => void

/** The number of channels one stream can follow, by the contract. */
const MAX_CHANNELS = 100
/**
 * An address can contain anything in place of an ID. One invalid channel name would make the server reject the whole
 * stream.
 */
const CHANNEL = /^[a-z]+:[0-9A-Za-z]{26}$/
const grown = Symbol('a page follows more than the stream does')

/**
 * The stream of changes of this window: one connection for all pages, since browsers allow only six per origin over
 * HTTP/1.1. When a page follows more channels, the stream reopens at its last position, so no change is missed.
 */
class Stream {
  readonly #listeners = new Map<string, Set<Listener>>()
  /** The current connection or attempt, with the channels it follows. */
  #open: { channels: ReadonlySet<string>; cut: AbortController } | null = null
  #running: AbortController | null = null
  #looks = false

  listen(given: readonly string[], listener: Listener): () => void {
    const channels = given.filter((channel) => CHANNEL.test(channel))
    for (const channel of channels) {
      const those = this.#listeners.get(channel)
      if (those) those.add(listener)
      else this.#listeners.set(channel, new Set([listener]))
    }
    this.#lookSoon()
    return () => {
      for (const channel of channels) {
        const those = this.#listeners.get(channel)
        those?.delete(listener)
        if (those?.size === 0) this.#listeners.delete(channel)
      }
      this.#lookSoon()
    }
  }

  /** Batched after this turn: pages mount and unmount in the same render. */
  #lookSoon(): void {
    if (this.#looks) return
    this.#looks = true
    setTimeout(() => {
      this.#looks = false
      if (this.#listeners.size === 0) {
        this.#running?.abort()
        this.#running = null
      } else if (this.#running === null) {
        this.#running = new AbortController()
        void this.#run(this.#running)
      } else if (this.#open && !this.#wanted().every((channel) => this.#open!.channels.has(channel)))
        this.#open.cut.abort(grown)
    })
  }

  #wanted = (): string[] => [...this.#listeners.keys()].slice(0, MAX_CHANNELS)

  async #run(running: AbortController): Promise<void> {
    const { signal } = running
    let last: string | undefined
    let failed = 0
    let broke = false
    while (!signal.aborted) {
      const cut = new AbortController()
      const channels = this.#wanted()
      // All channels were rejected: start over when others are named.
      if (channels.length === 0) {
        if (this.#running === running) this.#running = null
        return
      }
      this.#open = { channels: new Set(channels), cut }
      // Browsers may never close a connection that went offline.
      const lose = (): void => cut.abort()
      window.addEventListener('offline', lose)
      try {
        const more = { signal: AbortSignal.any([signal, cut.signal]), ...(last !== undefined && { lastEventId: last }) }
        for await (const event of await uk.realtime.subscribe({ channels: channels.join(',') }, more)) {
          if (event.id !== undefined) last = event.id
          if (failed > 0) {
            this.#tell(this.#all(), { event: 'again', broke })
            failed = 0
            broke = false
          }
          this.#pass(event)
        }
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ApiError && error.status === 401) {
          if (this.#running === running) this.#running = null
          return void queryClient.setQueryData(['session'], null)
        }
        if (this.#refused(error, channels)) continue
        if (cut.signal.reason !== grown) {
          if (!(error instanceof ApiError) || error.status >= 500) broke = true
          this.#tell(this.#all(), { event: 'lost' })
        }
      } finally {
        window.removeEventListener('offline', lose)
        if (this.#open?.cut === cut) this.#open = null
      }
      if (cut.signal.reason === grown) continue
      // The stream may have ended because the session did; the next attempt shows that.
      await pause(waitBefore(failed++), signal)
    }
  }

  /** Drops a channel that can't be followed and continues with the others. */
  #refused(error: unknown, asked: readonly string[]): boolean {
    const channel = error instanceof ApiError && error.status === 404 ? error.details?.['channel'] : undefined
    if (typeof channel !== 'string' || !asked.includes(channel)) return false
    // The page may have been left meanwhile.
    const listeners = this.#listeners.get(channel) ?? []
    this.#listeners.delete(channel)
    this.#tell(listeners, { event: 'revoked' })
    return true
  }

  #pass(event: Event): void {
    const of = (channel: string): Iterable<Listener> => this.#listeners.get(channel) ?? []
    if (event.event === 'change') this.#tell(of(event.data.channel), { event: 'change', change: event.data })
    else if (event.event === 'revoked') {
      const listeners = of(event.data.channel)
      this.#listeners.delete(event.data.channel)
      this.#tell(listeners, { event: 'revoked' })
    } else if (event.event === 'reset') this.#tell(of(event.data.channel), { event: 'begun', missed: true })
    else if (event.event === 'subscribed') {
      const fresh = event.data.channels.filter(({ recovered }) => !recovered)
      this.#tell(new Set(fresh.flatMap(({ channel }) => [...of(channel)])), { event: 'begun', missed: false })
    }
  }

  #all = (): Set<Listener> => new Set([...this.#listeners.values()].flatMap((those) => [...those]))

  #tell(listeners: Iterable<Listener>, heard: ChannelEvent): void {
    for (const listener of listeners) listener(heard)
  }
}

const stream = new Stream()

/**
 * Calls the listener for events of these channels (`user:<id>`, `workspace:<id>`, `chat:<id>`) until the returned
 * function is called. The stream opens and reconnects automatically; the shell learns from it when the session ended.
 */
export const listen = (channels: readonly string[], listener: Listener): (() => void) =>
  stream.listen(channels, listener)
