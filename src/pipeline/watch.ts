import type { Context } from '#infra/context.ts'
import type { Authority, Principal } from '#core/principal.ts'
import type { Entry } from '#core/registry.ts'
import { type PresentedCredential, RightsWatch, authenticate, checkScope } from './admit.ts'
import type { CallStart, Line } from './invoke.ts'
import { permit } from '#authz/permit.ts'

/** A call as its checks need it to be made again. */
export interface Watched {
  start: CallStart
  entry: Entry<Context>
  input: Record<string, unknown>
  credential: PresentedCredential
  connection: object
}

/** The checks of a call, made again for its caller as they are now. Refuses with what has become of them. */
export async function checkAgain(authority: Authority, line: Line, watched: Watched): Promise<Context> {
  return permitAgain(line, watched, await authenticate(authority, watched.credential))
}

async function permitAgain(line: Line, { start, entry, input }: Watched, principal: Principal): Promise<Context> {
  const again = line.context({ ...start, principal })
  checkScope(principal, entry.endpoint.scope)
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
  /** Closes the answer: its caller has lost the right to it. */
  close(why: unknown): void
  /** A right changed and left it permitted. */
  kept(ctx: Context): Promise<void>
}

/** Closes a stream whose caller has lost the right to it: the same checks as at its start, made again. */
export class Watch extends RightsWatch {
  readonly #line: Line
  readonly #watched: Watched
  readonly #guarded: Guarded

  constructor(authority: Authority, line: Line, watched: Watched, guarded: Guarded) {
    super(authority, watched.credential, watched.start.principal, watched.connection)
    this.#line = line
    this.#watched = watched
    this.#guarded = guarded
  }

  protected async check(principal: Principal): Promise<void> {
    await this.#guarded.kept(await permitAgain(this.#line, this.#watched, principal))
  }

  protected lost(why: unknown): void {
    this.#guarded.close(why)
  }
}
