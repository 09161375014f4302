import type { EventEmitter } from 'node:events'
import type { Id } from '#core/ids.ts'

export class Listening implements Disposable {
  readonly #changes: EventEmitter
  readonly #accountId: Id
  readonly #recheck: () => void

  constructor(changes: EventEmitter, accountId: Id, recheck: () => void) {
    this.#changes = changes.on(accountId, recheck)
    this.#accountId = accountId
    this.#recheck = recheck
  }

  [Symbol.dispose](): void {
    this.#changes.off(this.#accountId, this.#recheck)
  }
}
