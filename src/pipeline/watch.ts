import type { Context } from '#infra/context.ts'
import { scopeOf } from '#core/access.ts'
import type { Authority, Principal } from '#core/principal.ts'
import type { Entry } from '#core/registry.ts'
import { type PresentedCredential, RightsWatch, authenticate, checkScope } from './admit.ts'
import type { CallStart, Line } from './invoke.ts'
import { permit } from '#authz/permit.ts'

export interface WatchedCall {
  start: CallStart
  entry: Entry<Context>
  input: Record<string, unknown>
  credential: PresentedCredential
  connection: object
}

/** Repeats a call's checks with the caller's current permissions. Throws if they fail. */
export async function checkAgain(authority: Authority, line: Line, call: WatchedCall): Promise<Context> {
  return permitAgain(line, call, await authenticate(authority, call.credential))
}

async function permitAgain(line: Line, { start, entry, input }: WatchedCall, principal: Principal): Promise<Context> {
  const again = line.context({ ...start, principal })
  checkScope(principal, scopeOf(entry.endpoint.access))
  await permit(again, entry, input)
  return again
}

export async function* whilePermitted(
  bytes: AsyncIterable<Uint8Array>,
  hasChanged: () => boolean,
  check: () => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  for await (const part of bytes) {
    if (hasChanged()) await check()
    yield part
  }
  if (hasChanged()) await check()
}

export interface GuardedStream {
  close(why: unknown): void
  onPermitted(ctx: Context): Promise<void>
}

/** Closes a stream when its caller loses access, by repeating the checks from its start. */
export class Watch extends RightsWatch {
  readonly #line: Line
  readonly #call: WatchedCall
  readonly #stream: GuardedStream

  constructor(authority: Authority, line: Line, call: WatchedCall, stream: GuardedStream) {
    super(authority, call.credential, call.start.principal, call.connection)
    this.#line = line
    this.#call = call
    this.#stream = stream
  }

  protected async check(principal: Principal): Promise<void> {
    await this.#stream.onPermitted(await permitAgain(this.#line, this.#call, principal))
  }

  protected onLost(why: unknown): void {
    this.#stream.close(why)
  }
}
