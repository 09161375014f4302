/** The parts of a server, each under a name. They are taken down in reverse, and a slow one is named. */
export class Parts implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack
  readonly #now: { down: string | null }

  constructor(stack = new AsyncDisposableStack(), now: { down: string | null } = { down: null }) {
    this.#stack = stack
    this.#now = now
  }

  /** The part that is being taken down now. */
  get down(): string | null {
    return this.#now.down
  }

  use<P extends AsyncDisposable | Disposable>(name: string, part: P): P {
    this.defer(name, async () => {
      if (Symbol.asyncDispose in part) await part[Symbol.asyncDispose]()
      else part[Symbol.dispose]()
    })
    return part
  }

  defer(name: string, takeDown: () => PromiseLike<void>): void {
    this.#stack.defer(async () => {
      this.#now.down = name
      await takeDown()
      this.#now.down = null
    })
  }

  /** Moves the parts to whoever holds the answer; they are no longer taken down here. */
  move(): Parts {
    return new Parts(this.#stack.move(), this.#now)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}
