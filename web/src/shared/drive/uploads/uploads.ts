import { uk } from '../../api.ts'
import { bytes } from '../../../ui/text/format.ts'
import { type Place, adopt, targetOf } from '../files.ts'
import type { ChosenFile, Entry, OnConflict, UploadState } from './entry.ts'
import { MAX_KEPT_BYTES, drop, hasKept, keep, storedUploadsOf } from './stored-uploads.ts'
import { rateMeter } from './rate.ts'
import type { Trouble } from './send.ts'

/** Parallel uploads: browsers allow six connections per server, and streams take some. */
const AT_ONCE = 2
const DRAW_MS = 100
const AGAIN_MS = 5_000

/**
 * The uploads of this page. They continue across pages and reloads. A browser lock ensures that only one tab sends an
 * upload.
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

  async begin(accountId: string): Promise<void> {
    if (this.#accountId === accountId) return
    // Another user has signed in on this page.
    for (const key of this.#entries.keys()) void this.#stop(key).then(() => this.#forget(key))
    this.#entries.clear()
    this.#made.clear()
    this.#draw()
    if (this.#accountId === null) addEventListener('online', () => this.#again())
    this.#accountId = accountId
    if (!hasKept()) return
    for (const { file, accountId: of, ...kept } of await storedUploadsOf(accountId)) {
      void of
      if (this.#entries.has(kept.key) || !(await this.#hold(kept.key))) continue
      if (file !== null) this.#files.set(kept.key, file)
      this.#set({ ...kept, sent: 0, rate: null, state: file === null ? { is: 'lost' } : { is: 'waiting' } })
    }
    this.#next()
  }

  add(chosen: readonly ChosenFile[], place: Place, into: string): void {
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

  resume(key: string): void {
    this.#change(key, { state: { is: 'waiting' } })
    this.#next()
  }

  /** Resumes with a file chosen again. False: it is a different file. */
  bring(key: string, file: File): boolean {
    const entry = this.#entries.get(key)
    if (entry?.name !== file.name || entry.size !== file.size) return false
    this.#files.set(key, file)
    this.resume(key)
    return true
  }

  /** Resolves a name conflict; `all` applies to all pending ones. */
  settle(key: string, onConflict: Exclude<OnConflict, 'fail'>, all: boolean): void {
    for (const entry of this.#entries.values())
      if (entry.key === key || (all && (entry.state.is === 'conflict' || entry.state.is === 'waiting'))) {
        const state: UploadState = entry.state.is === 'conflict' ? { is: 'waiting' } : entry.state
        this.#change(entry.key, { onConflict, state, url: null, sent: 0 })
      }
    this.#next()
  }

  /** Removes an upload from the list, canceling it if incomplete. */
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
      // Paused or removed meanwhile.
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

  /** The folder for a file. Dropped folders are created once for all their files. */
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
    // Without locks, two tabs would send the same upload after a reload.
    if (entry === undefined || this.#accountId === null || !('locks' in navigator)) return
    const { state, sent, rate, ...kept } = entry
    void [state, sent, rate]
    const file = entry.size <= MAX_KEPT_BYTES ? (this.#files.get(entry.key) ?? null) : null
    void keep({ ...kept, accountId: this.#accountId, file })
  }

  #forget(key: string): void {
    this.#files.delete(key)
    this.#stops.delete(key)
    this.#locks.get(key)?.()
    this.#locks.delete(key)
    void drop(key)
  }

  /** Claims the upload for this tab. */
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

  /** Limits rendering to a few times per second. */
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

/** The server's error, with readable sizes. */
function sayRefused({ code, message, details }: Extract<Trouble, { kind: 'refused' }>): string {
  const { limit_bytes: limit, used_bytes: used, asked_bytes: asked } = details
  if (code === 'storage_full' && typeof limit === 'number' && typeof used === 'number')
    return `Not enough storage: ${bytes(used)} of ${bytes(limit)} used${typeof asked === 'number' ? `, ${bytes(asked)} needed` : ''}.`
  return message
}

export const uploads = new Uploads()
