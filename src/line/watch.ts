import type { Context } from '#engine/context.ts'
import type { Authority } from '#kernel/principal.ts'
import type { Entry } from '#kernel/registry.ts'
import { type Presented, authenticate } from './authenticate.ts'
import type { Line } from './invoke.ts'
import { checkScope, permit } from './permit.ts'

export interface Watched {
  ctx: Context
  entry: Entry<Context>
  input: Record<string, unknown>
  credential: Presented
}

/**
 * Ends a stream whose caller has lost the right to it: the same checks as at its start, made again. `kept` hears of a
 * change that left the endpoint permitted.
 */
export function watchRights(
  authority: Authority,
  line: Line,
  { ctx, entry, input, credential }: Watched,
  end: (why: unknown) => void,
  kept?: (ctx: Context) => Promise<void>,
): Disposable {
  const recheck = async () => {
    try {
      const principal = await authenticate(authority, credential)
      const again = line.context({ ...ctx, principal })
      checkScope(again, entry)
      await permit(again, entry, input)
      await kept?.(again)
    } catch (error) {
      end(error)
    }
  }
  const watch = authority.onChange(ctx.principal.accountId, () => void recheck())
  // What changed since the caller was known, while its body came or its stream was prepared, was not heard here.
  void recheckIfOther()
  async function recheckIfOther(): Promise<void> {
    const present = await Promise.try(authenticate, authority, credential).catch(() => null)
    if (present !== ctx.principal) await recheck()
  }
  const { credential: held } = ctx.principal
  const expiresAt = held.kind === 'server' ? null : held.expiresAt
  const timer =
    expiresAt && setTimeout(() => void recheck(), Math.min(2 ** 31 - 1, expiresAt.getTime() - Date.now() + 10)).unref()
  return {
    [Symbol.dispose]() {
      watch[Symbol.dispose]()
      if (timer) clearTimeout(timer)
    },
  }
}
