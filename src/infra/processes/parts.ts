/** Named server parts, stopped in reverse order. The name identifies a slow one. */
export class Parts implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack
  readonly #now: { down: string | null }

  constructor(stack = new AsyncDisposableStack(), now: { down: string | null } = { down: null }) {
    this.#stack = stack
    this.#now = now
  }

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

  move(): Parts {
    return new Parts(this.#stack.move(), this.#now)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}
