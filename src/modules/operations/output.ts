import type { Engine } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import { transition } from './events.ts'
import { operations } from './store.ts'

const PROGRESS_MS = 500
/** The least time between two writes of appended text. It grows with the length of the text. */
const APPEND_MS = 500
const APPEND_CHARACTERS_PER_MS = 4_096

/** Writes an operation's progress up to twice a second. The last value is dropped if the operation ends first. */
export class ProgressWriter implements Disposable {
  readonly #engine: Engine
  readonly #id: Id
  #waiting: number | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(engine: Engine, id: Id) {
    this.#engine = engine
    this.#id = id
  }

  readonly set = (fraction: number): void => {
    this.#waiting = Math.min(1, Math.max(0, fraction))
    if (this.#timer === null) this.#write()
  }

  #write(): void {
    this.#timer = null
    if (this.#waiting === null) return
    const fraction = this.#waiting
    this.#waiting = null
    this.#timer = setTimeout(() => this.#write(), PROGRESS_MS)
    transition(this.#engine, (tx) => operations.progress(tx, this.#id, this.#engine.processId, fraction)).catch(
      (error: unknown) => this.#engine.log.warn({ error, operation: this.#id }, 'progress was not written'),
    )
  }

  [Symbol.dispose](): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#waiting = null
  }
}

/** Writes the text that a running operation appends to its content. `flush` writes the rest. */
export class ContentWriter {
  readonly #engine: Engine
  readonly #id: Id
  #waiting = ''
  #writtenCharacters = 0
  #isFirst = true
  #timer: NodeJS.Timeout | null = null
  #writing = Promise.resolve()

  constructor(engine: Engine, id: Id) {
    this.#engine = engine
    this.#id = id
  }

  readonly add = (text: string): void => {
    // PostgreSQL text can't contain NUL.
    this.#waiting += text.replaceAll('\0', '\uFFFD')
    const delayMs = this.#isFirst ? 0 : APPEND_MS + this.#writtenCharacters / APPEND_CHARACTERS_PER_MS
    this.#timer ??= setTimeout(() => this.#write(), delayMs)
  }

  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#waiting !== '') this.#write()
    await this.#writing
  }

  #write(): void {
    this.#timer = null
    const text = this.#waiting
    this.#waiting = ''
    this.#writtenCharacters += text.length
    // The first write of an attempt replaces what an earlier attempt appended.
    const replaces = this.#isFirst
    this.#isFirst = false
    this.#writing = this.#writing
      .then(() => operations.append(this.#engine.postgres.db, this.#id, this.#engine.processId, text, replaces))
      .catch((error: unknown) => this.#engine.log.warn({ error, operation: this.#id }, 'content was not written'))
  }
}
