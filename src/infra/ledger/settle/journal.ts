import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Id } from '#core/ids.ts'
import type { Log } from '../../log.ts'
import { type Item, type SharedFields, interruptedLine } from './item.ts'
import type { MeteredCall } from '../ledger.ts'
import { SettleBatch } from './settle-batch.ts'

/** Delay before a sent call's line is written. Writing each one at once would cost more than its other accounting. */
const AFTER_MS = 3
/** A file of this size is closed with the next batch and deleted when that is durable. */
const CUT_BYTES = 256 << 10
const BATCH_CALLS = 500

/**
 * A local file of calls that aren't in the database yet: unreserved calls from when they are sent, and all calls from
 * their end. After a kill, the next process on this data directory settles them. One line each: `=` shared fields,
 * referenced by index; `+` a sent call, `-` an ended one, `x` one that was never sent.
 */
export interface Journal {
  recordStart(call: MeteredCall, shared: SharedFields): void
  recordDrop(id: Id): void
  recordEnd(item: Item): void
  /**
   * Starts another file if the current one is large. Returns a function that deletes the old one once its calls are
   * durable.
   */
  rotate(): (() => void) | null
  close(durable: boolean): void
}

export const noJournal: Journal = {
  recordStart() {},
  recordDrop() {},
  recordEnd() {},
  rotate: () => null,
  close() {},
}

const NAME = /^([0-9A-Z]{26})-(\d+)\.calls$/

export const createJournal = (dir: string, processId: Id, log: Log): Journal => new FileJournal(dir, processId, log)

class FileJournal implements Journal {
  readonly #dir: string
  readonly #processId: Id
  readonly #log: Log
  readonly #open = new Map<Id, { shared: SharedFields; startedMs: number }>()
  #number = 1
  #file: number | null
  #places = new Map<SharedFields, number>()
  #waiting = ''
  #bytes = 0
  #timer: NodeJS.Timeout | null = null
  /** The last write failed; each batch tries another file. */
  #full = false

  constructor(dir: string, processId: Id, log: Log) {
    this.#dir = dir
    this.#processId = processId
    this.#log = log
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    this.#file = openSync(this.#pathOf(this.#number), 'a', 0o600)
  }

  recordStart(call: MeteredCall, shared: SharedFields): void {
    const startedMs = call.startedAt.getTime()
    this.#open.set(call.id, { shared, startedMs })
    this.#begin(call.id, shared, startedMs)
  }

  recordDrop(id: Id): void {
    if (this.#open.delete(id)) this.#add(`x${id}\n`)
  }

  recordEnd({ id, shared, line }: Item): void {
    this.#open.delete(id)
    if (this.#file === null || shared === null) return
    const place = this.#placeOf(shared)
    this.#add(`-${place}${line}\n`)
  }

  rotate(): (() => void) | null {
    this.#write()
    if (this.#file === null ? !this.#full : this.#bytes < CUT_BYTES) return null
    let next: number
    try {
      next = openSync(this.#pathOf(this.#number + 1), 'a', 0o600)
    } catch (error) {
      if (!this.#full) this.#log.error({ error }, 'no new journal file for calls can be created')
      return null
    }
    const before = this.#pathOf(this.#number)
    if (this.#file !== null) closeSync(this.#file)
    this.#file = next
    this.#number += 1
    this.#bytes = 0
    this.#places = new Map()
    for (const [id, { shared, startedMs }] of this.#open) this.#begin(id, shared, startedMs)
    this.#write()
    if (this.#file === null) {
      this.#number -= 1
      return null
    }
    return () => rmSync(before, { force: true })
  }

  close(durable: boolean): void {
    this.#write()
    if (this.#file === null) return
    closeSync(this.#file)
    this.#file = null
    if (durable && this.#open.size === 0) rmSync(this.#pathOf(this.#number), { force: true })
  }

  #pathOf(number: number): string {
    return join(this.#dir, `${this.#processId}-${number}.calls`)
  }

  #add(line: string): void {
    this.#waiting += line
    this.#timer ??= setTimeout(this.#write, AFTER_MS)
  }

  /** A field, so that timers share one function. */
  readonly #write = (): void => {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const text = this.#waiting
    this.#waiting = ''
    if (this.#file === null || text === '') return
    try {
      const bytesWritten = writeSync(this.#file, text)
      this.#bytes += bytesWritten
      if (bytesWritten < Buffer.byteLength(text)) throw new Error('the disk is full')
      if (this.#full) this.#log.info('calls are written to a journal file again')
      this.#full = false
    } catch (error) {
      // The database is authoritative; the journal only covers crashes.
      if (!this.#full)
        this.#log.error(
          { error },
          'calls cannot be written to a journal file; the results of calls interrupted by a crash will be unknown',
        )
      this.#full = true
      closeSync(this.#file)
      this.#file = null
      if (this.#bytes === 0) rmSync(this.#pathOf(this.#number), { force: true })
    }
  }

  #placeOf(shared: SharedFields): number {
    let place = this.#places.get(shared)
    if (place === undefined) {
      this.#places.set(shared, (place = this.#places.size))
      this.#add(`=${shared.text}\n`)
    }
    return place
  }

  #begin(id: Id, shared: SharedFields, startedMs: number): void {
    const place = this.#placeOf(shared)
    this.#add(`+${place}\t${id}\t${startedMs}\n`)
  }
}

export interface LeftJournal {
  processId: Id
  batches(): SettleBatch[]
  remove(): void
}

/** Files of other processes in this directory, including live ones, which must not be touched. */
export function journalsIn(dir: string, processId: Id): LeftJournal[] {
  const files = new Map<Id, string[]>()
  for (const name of existsSync(dir) ? readdirSync(dir) : []) {
    const whose = NAME.exec(name)?.[1]
    if (whose === undefined || whose === processId) continue
    const paths = files.get(whose) ?? []
    paths.push(join(dir, name))
    files.set(whose, paths)
  }
  return [...files].map(([whose, paths]) => ({
    processId: whose,
    batches: () => readJournal(paths.toSorted((a, b) => numberOf(a) - numberOf(b)).map(textOf)),
    remove: () => paths.forEach((path) => rmSync(path, { force: true })),
  }))
}

const numberOf = (path: string): number => Number(/-(\d+)\.calls$/.exec(path)![1])

/** Empty if another process has already settled it. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/**
 * Reads a process's files in order: ended calls as recorded, others as interrupted. A call spanning two files started
 * in the earlier one. Ignores a truncated last line.
 */
export function readJournal(texts: readonly string[]): SettleBatch[] {
  const calls = new Map<string, { shared: Pick<SharedFields, 'text'> | undefined; line: string }>()
  for (const text of texts) {
    const shared: Pick<SharedFields, 'text'>[] = []
    const lines = text.split('\n')
    lines.pop()
    for (const each of lines) {
      const kind = each[0]
      const rest = each.slice(1)
      const tab = rest.indexOf('\t')
      if (kind === '=') shared.push({ text: rest })
      else if (kind === 'x') calls.delete(rest)
      else if (tab > 0) {
        const [, id = '', started] = rest.split('\t', 3)
        const place = Number(rest.slice(0, tab))
        const line = kind === '-' ? rest.slice(tab) : interruptedLine(id, Number(started))
        calls.set(id, { shared: shared[place], line })
      }
    }
  }
  const batches: SettleBatch[] = []
  for (const { shared, line } of calls.values()) {
    if (shared === undefined) continue
    if (batches.length === 0 || batches.at(-1)!.count >= BATCH_CALLS) batches.push(new SettleBatch())
    batches.at(-1)!.add(shared, line)
  }
  return batches
}
