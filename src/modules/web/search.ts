import type { Config } from '#config'
import type { Context } from '#infra/context.ts'
import { RetrieveFailed, retrieve } from '#packages/http-client/retrieve.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { parseForeign } from '#packages/json-scan/json-text.ts'
import { type Found, type Provider, type WebQuery, brave, searxng, tavily } from './providers.ts'

interface SetUp {
  provider: Provider
  base: string
  key: string
}

/** The configured providers in order of preference. `…_BASE_URL` overrides the address. */
export function providersOf({ environment }: Config): SetUp[] {
  const said = (name: string): string => environment[name]?.trim().replace(/\/+$/, '') ?? ''
  const all = [
    {
      provider: brave,
      base: said('BRAVE_BASE_URL') || 'https://api.search.brave.com/res/v1',
      key: said('BRAVE_API_KEY'),
    },
    { provider: tavily, base: said('TAVILY_BASE_URL') || 'https://api.tavily.com', key: said('TAVILY_API_KEY') },
    { provider: searxng, base: said('SEARXNG_URL'), key: said('SEARXNG_URL') },
  ]
  return all.filter(({ key, base }) => key !== '' && /^https?:$/.test(URL.parse(base)?.protocol ?? ''))
}

const MAX_BYTES = 8 << 20
const TIMEOUT_MS = 15_000

/** Queries the first provider that answers. An explicitly chosen provider isn't replaced. */
export async function searchWeb(
  ctx: Context,
  question: WebQuery,
  named: Provider['name'] | undefined,
): Promise<Found & { provider: Provider['name'] }> {
  const ready = providersOf(ctx.engine.config).filter(({ provider }) => named === undefined || provider.name === named)
  if (ready.length === 0)
    return refuse('not_ready', {
      message:
        named === undefined
          ? 'No search provider is set up. The administrator can set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL.'
          : `${named} isn’t set up on this instance.`,
      ...(named !== undefined && { param: 'provider' }),
    })
  let failure: Refusal | undefined
  for (const one of ready) {
    try {
      return { provider: one.provider.name, ...(await askOne(ctx, one, question)) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      ctx.log.warn({ provider: one.provider.name, reason: error.message }, 'a web search failed')
      failure ??= error
    }
  }
  throw failure!
}

async function askOne(ctx: Context, { provider, base, key }: SetUp, question: WebQuery): Promise<Found> {
  const { name } = provider
  const { url, method, headers, body } = provider.ask(base, key, question)
  try {
    const { status, bytes } = await retrieve(ctx.engine.outside, {
      url: new URL(url),
      method,
      headers,
      ...(body && { body }),
      // Configured by the administrator, and often a SearXNG on the same network.
      mayBePrivate: true,
      mostBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
      hops: 0,
      // The instance's own key, which doesn't change until a restart.
      credential: name,
      party: ctx.principal.accountId,
      signal: ctx.signal,
    })
    if (status !== 200)
      refuse('upstream_error', {
        message: `${name} answered ${status}${hint(name, status)}.`,
        details: { provider: name, status },
      })
    return (
      provider.read(parseForeign(bytes) ?? null, question) ??
      refuse('upstream_error', {
        message: `${name} returned an unexpected response.`,
        details: { provider: name },
      })
    )
  } catch (error) {
    if (!(error instanceof RetrieveFailed)) throw error
    return refuse(error.why === 'too_slow' ? 'timeout' : 'upstream_error', {
      message: `${name}: ${error.message}`,
      details: { provider: name },
    })
  }
}

const hint = (name: string, status: number): string =>
  name === 'searxng' && status === 403
    ? ' (check that `search.formats` in its settings.yml includes `json`)'
    : status === 401 || status === 403 || status === 422
      ? ' (its API key was rejected)'
      : status === 429
        ? ' (its quota is used up)'
        : ''
