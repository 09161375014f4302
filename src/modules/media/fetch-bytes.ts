import type { Context } from '#infra/context.ts'
import { type Meter, fetchThrough } from '#packages/http-client/fetch.ts'
import { RetrieveFailed } from '#packages/http-client/retrieve.ts'
import { refuse } from '#core/errors.ts'

const MAX_HOPS = 5
const WITHIN_MS = 120_000
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Streams a URL from the request. Only public addresses are allowed, checked at each redirect. */
export async function* fetchBytes(
  ctx: Context,
  address: URL,
  { param }: { param: string },
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  const meter: Meter = { remaining: mostBytes }
  const wrong = (message: string): never => refuse('invalid_parameter', { param: `${param}.url`, message })
  const ask = fetchThrough(ctx.engine.outside, meter, {
    credential: '',
    party: ctx.principal.accountId,
    withinMs: WITHIN_MS,
  })
  try {
    let url = address
    for (let hop = 0; ; hop++) {
      const answer = await ask(url, { signal: ctx.signal, headers: { 'accept-encoding': 'identity' } })
      const location = REDIRECTS.has(answer.status) ? answer.headers.get('location') : null
      if (location === null) {
        if (answer.status !== 200) wrong(`The URL returned status ${answer.status}.`)
        if (answer.body !== null) yield* answer.body
        return
      }
      await answer.body?.cancel()
      const next = URL.parse(location, url.href)
      if (next === null || !/^https?:$/.test(next.protocol) || hop >= MAX_HOPS)
        return wrong('The URL redirects to an unsupported address.')
      url = next
    }
  } catch (error) {
    if (error instanceof RetrieveFailed) wrong(error.message)
    throw error
  }
}
