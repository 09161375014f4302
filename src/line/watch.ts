import type { Context } from '#engine/context.ts'
import type { Authority, Principal } from '#kernel/principal.ts'
import type { Entry } from '#kernel/registry.ts'
import { type Presented, authenticate } from './authenticate.ts'
import type { CallStart, Line } from './invoke.ts'
import { checkScope, permit } from '#access/permit.ts'

/** What the checks of a call are made again with. */
export interface Watched {
  start: CallStart
  entry: Entry<Context>
  input: Record<string, unknown>
  credential: Presented
}

/** The checks of a call, made again for its caller as they are now. Refuses with what has become of them. */
export async function checkAgain(
  authority: Authority,
  line: Line,
  { start, entry, input, credential }: Watched,
): Promise<Context> {
  const principal = await authenticate(authority, credential)
  const again = line.context({ ...start, principal })
  checkScope(again, entry)
  await permit(again, entry, input)
  return again
}

/** The bytes of a call for as long as its sender may send them: a large file may take hours. */
export async function* whilePermitted(
  bytes: AsyncIterable<Uint8Array>,
  changed: () => boolean,
  check: () => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  for await (const part of bytes) {
    if (changed()) await check()
    yield part
  }
  if (changed()) await check()
}

/** A stream under watch. */
export interface Guarded {
  /** Its caller has lost the right to it. */
  close(why: unknown): void
  /** A right changed and left it permitted. */
  kept(ctx: Context): Promise<void>
}

/** Closes a stream whose caller has lost the right to it: the same checks as at its start, made again. */
export class Watch implements Disposable {
  readonly #authority: Authority
  readonly #line: Line
  readonly #watched: Watched
  readonly #guarded: Guarded
  readonly #heard: Disposable
  #timer: NodeJS.Timeout | null = null
  #over = false
  #asked = false
  #looking = false

  constructor(authority: Authority, line: Line, watched: Watched, guarded: Guarded) {
    this.#authority = authority
    this.#line = line
    this.#watched = watched
    this.#guarded = guarded
    const { principal } = watched.start
    this.#heard = authority.onChange(principal.accountId, () => void this.recheck())
    this.#setTimer(principal)
    // What changed since the caller was known, while its body came or its stream was prepared, was not heard here.
    void this.#recheckIfOther()
  }

  /** One look at a time: of two, the older could have the last word. */
  async recheck(): Promise<void> {
    this.#asked = true
    if (this.#looking) return
    this.#looking = true
    while (this.#asked && !this.#over) {
      this.#asked = false
      await this.#look()
    }
    this.#looking = false
  }

  async #look(): Promise<void> {
    try {
      const again = await checkAgain(this.#authority, this.#line, this.#watched)
      // A session that was used meanwhile ends later than it would have.
      this.#setTimer(again.principal)
      await this.#guarded.kept(again)
    } catch (error) {
      this.#guarded.close(error)
    }
  }

  async #recheckIfOther(): Promise<void> {
    const { start, credential } = this.#watched
    const present = await Promise.try(authenticate, this.#authority, credential).catch(() => null)
    if (present !== start.principal) await this.recheck()
  }

  #setTimer({ credential }: Principal): void {
    if (this.#timer) clearTimeout(this.#timer)
    const expiresAt = credential.kind === 'server' ? null : credential.expiresAt
    if (expiresAt === null || this.#over) return
    const left = Math.min(2 ** 31 - 1, expiresAt.getTime() - Date.now() + 10)
    this.#timer = setTimeout(() => void this.recheck(), left).unref()
  }

  [Symbol.dispose](): void {
    this.#over = true
    this.#heard[Symbol.dispose]()
    if (this.#timer) clearTimeout(this.#timer)
  }
}
