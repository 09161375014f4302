import { uk } from '../../api.ts'
import { bytes } from '../../ui/text/format.ts'
import { type Place, adopt, targetOf } from '../queries.ts'
import { type Chosen, type Entry, type OnConflict, type UploadState } from './entry.ts'
import { MOST_KEPT_BYTES, drop, hasKept, keep, keptOf } from './keep.ts'
import { rateMeter } from './rate.ts'
import type { Trouble } from './send.ts'

/** The number of uploads at a time: a browser has six connections to a server, and streams take some. */
const AT_ONCE = 2
const DRAW_MS = 100
const AGAIN_MS = 5_000

/**
 * The uploads of this page. They go on while the person walks about in the app, and after a reload; one that another
 * tab sends is that tab's, by a lock of the browser.
 */
class Uploads {
  #entries = new Map<string, Entry>()
  #shown: readonly Entry[] = []
  readonly #files = new Map<string, File>()
  readonly #stops = new Map<string, () => Promise<void>>()
  readonly #locks = new Map<string, () => void>()
  readonly #made = new Map<string, Promise<string>>()
  readonly #listeners = new Set<() => void>()
  #accountId: string | null = null
  #drawing = false

  readonly list = (): readonly Entry[] => this.#shown
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Goes on with the uploads that were under way when the page was loaded anew. */
  async begin(accountId: string): Promise<void> {
    if (this.#accountId === accountId) return
    // Somebody else has signed in on this page.
    for (const key of this.#entries.keys()) void this.#stop(key).then(() => this.#forget(key))
    this.#entries.clear()
    this.#made.clear()
    this.#draw()
    if (this.#accountId === null) addEventListener('online', () => this.#again())
    this.#accountId = accountId
    if (!hasKept()) return
    for (const { file, accountId: of, ...kept } of await keptOf(accountId)) {
      void of
      if (this.#entries.has(kept.key) || !(await this.#hold(kept.key))) continue
      if (file !== null) this.#files.set(kept.key, file)
      this.#set({ ...kept, sent: 0, rate: null, state: file === null ? { is: 'lost' } : { is: 'waiting' } })
    }
    this.#next()
  }

  add(chosen: readonly Chosen[], place: Place, into: string): void {
    for (const { file, folders } of chosen) {
      const { name, size, type, lastModified } = file
      const key = crypto.getRandomValues(new Uint32Array(4)).join('-')
      const entry: Entry = {
        key,
        name,
        size,
        type,
        lastModified,
        place,
        folders,
        into: [into, ...folders].join(' / '),
        onConflict: 'fail',
        url: null,
        sent: 0,
        rate: null,
        state: { is: 'waiting' },
      }
      this.#files.set(key, file)
      this.#set(entry)
      void this.#hold(key)
      this.#keep(entry)
    }
    this.#next()
  }

  pause(key: string): void {
    this.#change(key, { state: { is: 'paused' }, rate: null })
    void this.#stop(key).then(() => this.#next())
  }

  /** Goes on, or tries again. */
  resume(key: string): void {
    this.#change(key, { state: { is: 'waiting' } })
    this.#next()
  }

  /** Goes on with the file that the browser did not keep. False: it is another one. */
  bring(key: string, file: File): boolean {
    const entry = this.#entries.get(key)
    if (entry?.name !== file.name || entry.size !== file.size) return false
    this.#files.set(key, file)
    this.resume(key)
    return true
  }

  /** The person's word on a name that is taken; `all` holds for those that wait as well. */
  settle(key: string, onConflict: Exclude<OnConflict, 'fail'>, all: boolean): void {
    for (const entry of this.#entries.values())
      if (entry.key === key || (all && (entry.state.is === 'conflict' || entry.state.is === 'waiting'))) {
        const state: UploadState = entry.state.is === 'conflict' ? { is: 'waiting' } : entry.state
        this.#change(entry.key, { onConflict, state, url: null, sent: 0 })
      }
    this.#next()
  }

  /** Takes it from the list; one that is not whole is given up. */
  async remove(key: string): Promise<void> {
    const entry = this.#entries.get(key)
    this.#entries.delete(key)
    this.#draw()
    await this.#stop(key)
    this.#forget(key)
    this.#next()
    if (entry !== undefined && entry.url !== null && entry.state.is !== 'done')
      await import('./send.ts').then(({ terminate }) => terminate(entry.url!)).catch(() => {})
  }

  clear(): void {
    for (const { key, state } of this.#entries.values()) if (state.is === 'done') this.#entries.delete(key)
    this.#draw()
  }

  #next(): void {
    const all = [...this.#entries.values()]
    const free = AT_ONCE - all.filter(({ state }) => state.is === 'going').length
    for (const { key } of all.filter(({ state }) => state.is === 'waiting').slice(0, Math.max(0, free))) {
      this.#change(key, { state: { is: 'going' } })
      void this.#send(key)
    }
  }

  async #send(key: string): Promise<void> {
    const entry = this.#entries.get(key)
    const file = this.#files.get(key)
    if (entry === undefined) return
    if (file === undefined) return this.#change(key, { state: { is: 'lost' } })
    try {
      const place = await this.#placeOf(entry)
      const { send } = await import('./send.ts')
      const rate = rateMeter()
      // Paused or taken away meanwhile.
      if (this.#entries.get(key)?.state.is !== 'going') return
      const stop = send(file, this.#entries.get(key)!, place, {
        at: (sent) => this.#change(key, { sent, rate: rate(performance.now(), sent) }),
        begun: (url) => {
          this.#change(key, { url })
          this.#keep(this.#entries.get(key))
        },
        done: (fileId) => void this.#done(key, fileId),
        trouble: (trouble) => this.#trouble(key, trouble),
      })
      this.#stops.set(key, stop)
    } catch (error) {
      this.#change(key, { state: { is: 'failed', why: error instanceof Error ? error.message : String(error) } })
      this.#next()
    }
  }

  async #done(key: string, fileId: string | null): Promise<void> {
    this.#change(key, { state: { is: 'done', fileId }, sent: this.#entries.get(key)?.size ?? 0, rate: null })
    this.#forget(key)
    this.#next()
    if (fileId !== null) await uk.drive.metadata({ id: fileId }).then(adopt, () => {})
  }

  #trouble(key: string, trouble: Trouble): void {
    this.#stops.delete(key)
    if (trouble.kind === 'cut') setTimeout(() => this.#again(), AGAIN_MS)
    const state: UploadState =
      trouble.kind === 'cut'
        ? { is: 'cut' }
        : trouble.kind === 'taken'
          ? { is: 'conflict' }
          : { is: 'failed', why: sayRefused(trouble) }
    this.#change(key, { state, rate: null })
    this.#next()
  }

  #again(): void {
    for (const { key, state } of this.#entries.values())
      if (state.is === 'cut') this.#change(key, { state: { is: 'waiting' } })
    this.#next()
  }

  /** The folder that a file goes into; those that it was dropped in are made once for all that lie in them. */
  async #placeOf({ place, folders }: Entry): Promise<Place> {
    let at = place
    for (const [depth, name] of folders.entries()) {
      const path = JSON.stringify([place, folders.slice(0, depth + 1)])
      const parent = at
      let made = this.#made.get(path)
      if (made === undefined) {
        made = uk.drive.create_folder({ ...targetOf(parent), name }).then((folder) => {
          adopt(folder)
          return folder.id
        })
        this.#made.set(path, made)
        made.catch(() => this.#made.delete(path))
      }
      at = { workspaceId: place.workspaceId, folderId: await made }
    }
    return at
  }

  async #stop(key: string): Promise<void> {
    const stop = this.#stops.get(key)
    this.#stops.delete(key)
    await stop?.().catch(() => {})
  }

  #keep(entry: Entry | undefined): void {
    // Without locks two tabs would send the same upload after a reload.
    if (entry === undefined || this.#accountId === null || !('locks' in navigator)) return
    const { state, sent, rate, ...kept } = entry
    void [state, sent, rate]
    const file = entry.size <= MOST_KEPT_BYTES ? (this.#files.get(entry.key) ?? null) : null
    void keep({ ...kept, accountId: this.#accountId, file })
  }

  #forget(key: string): void {
    this.#files.delete(key)
    this.#stops.delete(key)
    this.#locks.get(key)?.()
    this.#locks.delete(key)
    void drop(key)
  }

  /** Whether this tab is the one that sends it, from now on until it is forgotten. */
  #hold(key: string): Promise<boolean> {
    if (!('locks' in navigator)) return Promise.resolve(false)
    return new Promise((resolve) => {
      void navigator.locks.request(`uk-upload ${key}`, { ifAvailable: true }, (lock) => {
        resolve(lock !== null)
        return lock === null ? undefined : new Promise<void>((release) => this.#locks.set(key, release))
      })
    })
  }

  #change(key: string, change: Partial<Entry>): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) this.#set({ ...entry, ...change })
  }

  #set(entry: Entry): void {
    this.#entries.set(entry.key, entry)
    this.#draw()
  }

  /** A list that is looked at is drawn some times a second, however fast bytes go. */
  #draw(): void {
    if (this.#drawing) return
    this.#drawing = true
    setTimeout(() => {
      this.#drawing = false
      this.#shown = [...this.#entries.values()]
      for (const listener of this.#listeners) listener()
    }, DRAW_MS)
  }
}

/** The server's refusal, with its numbers as people read them. */
function sayRefused({ code, message, details }: Extract<Trouble, { kind: 'refused' }>): string {
  const { limit_bytes: limit, used_bytes: used, asked_bytes: asked } = details
  if (code === 'storage_full' && typeof limit === 'number' && typeof used === 'number')
    return `No room: ${bytes(used)} of ${bytes(limit)} are taken${typeof asked === 'number' ? `, this takes ${bytes(asked)}` : ''}.`
  return message
}

export const uploads = new Uploads()
