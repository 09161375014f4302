import type { Engine } from '#infra/context.ts'
import { RetrieveFailed, retrieve } from '#packages/http-client/retrieve.ts'
import { signWebhook } from '#core/text/standard-webhooks.ts'
import type { Id } from '#core/ids.ts'
import { FAILING_DAYS, nextAttempt } from './retries.ts'
import { disable, placeOfResponsible } from './responsible.ts'
import { type Attempt, type DeliveryRow, type TakenDelivery, deliveryStore } from './delivery-store.ts'
import { type EndpointRow, endpointStore } from './store.ts'
import { shorten } from '#core/text/shorten.ts'

const POLL_MS = 1_000
const AT_ONCE = 64
const PER_ENDPOINT = 4
/** Across all endpoints of one responsible account. */
const PER_ACCOUNT = 16
const TIMEOUT_MS = 15_000
const LOST_SECONDS = 60
const SHOWN_CHARACTERS = 1_000

/** Sends due deliveries. The table is the queue, not the job runner, so that slow receivers don't take job slots. */
export function startSender(engine: Engine): AsyncDisposable {
  const { db } = engine.postgres
  const stopping = new AbortController()
  const inFlight = new Counts()
  const ofAccounts = new Counts()
  const running = new Set<Promise<void>>()
  let taking: Promise<void> | null = null
  let hasMore = false

  async function take(): Promise<void> {
    while (hasMore && !stopping.signal.aborted) {
      hasMore = false
      const room = AT_ONCE - running.size
      if (room <= 0) return
      const busy = [...inFlight].filter(([, n]) => n >= PER_ENDPOINT).map(([id]) => id)
      const rows = await deliveryStore.take(db, {
        busy,
        perEndpoint: PER_ENDPOINT,
        going: ofAccounts,
        perAccount: PER_ACCOUNT,
        limit: room,
        lostSeconds: LOST_SECONDS,
      })
      for (const row of rows) begin(row)
      if (rows.length === room) hasMore = true
    }
  }
  function begin(row: TakenDelivery): void {
    inFlight.add(row.endpoint_id, 1)
    ofAccounts.add(row.holder, 1)
    const work = deliver(engine, row, stopping.signal)
      .catch((error: unknown) => engine.log.error({ error, delivery: row.id }, 'a webhook was not delivered'))
      .finally(() => {
        running.delete(work)
        inFlight.add(row.endpoint_id, -1)
        ofAccounts.add(row.holder, -1)
        wake()
      })
    running.add(work)
  }
  function wake(): void {
    hasMore = true
    taking ??= take()
      .catch((error: unknown) => engine.log.warn({ error }, 'webhooks cannot be sent right now'))
      .finally(() => {
        taking = null
      })
  }

  const timer = setInterval(wake, POLL_MS)
  const woken = engine.bus.on('webhooks', wake)
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error('the server stops'))
      clearInterval(timer)
      woken[Symbol.dispose]()
      await taking
      await Promise.all(running)
    },
  }
}

class Counts extends Map<Id, number> {
  add(id: Id, by: number): void {
    const n = (this.get(id) ?? 0) + by
    if (n > 0) this.set(id, n)
    else this.delete(id)
  }
}

async function deliver(engine: Engine, row: DeliveryRow, signal: AbortSignal): Promise<void> {
  const { db } = engine.postgres
  const endpoint = await endpointStore.get(db, row.endpoint_id)
  if (endpoint?.status !== 'enabled' || (await placeOfResponsible(engine, endpoint)) === null) return
  const at = new Date()
  const startedAt = performance.now()
  const { answer, error } = await post(engine, endpoint, row, at, signal)
  // Interrupted by our shutdown: another process sends it.
  if (signal.aborted && answer === null) return
  const attempt: Attempt = {
    at: at.toISOString(),
    duration_ms: Math.round(performance.now() - startedAt),
    response_status: answer?.status ?? null,
    response_body: answer && storable(answer.body),
    error,
  }
  const status = answer?.status ?? 0
  if (status >= 200 && status < 300) {
    // The endpoint first, so that it looks healthy once the delivery succeeded.
    await endpointStore.succeeded(db, endpoint.id)
    return await deliveryStore.settle(db, row.id, attempt, { status: 'succeeded' })
  }
  const retrySeconds = status === 410 ? null : nextAttempt(row.attempts.length + 1, answer?.retryAfter)
  await deliveryStore.settle(
    db,
    row.id,
    attempt,
    retrySeconds === null ? { status: 'failed' } : { again: retrySeconds },
  )
  const since = await endpointStore.failed(db, endpoint.id)
  const days = since === null ? 0 : (Date.now() - since.getTime()) / 86_400_000
  if (status === 410) await disable(engine, endpoint.id, 'gone')
  else if (days >= FAILING_DAYS) await disable(engine, endpoint.id, 'failing')
}

interface PostResult {
  answer: { status: number; body: string; retryAfter: string | undefined } | null
  error: string | null
}

async function post(
  engine: Engine,
  endpoint: EndpointRow,
  row: DeliveryRow,
  at: Date,
  signal: AbortSignal,
): Promise<PostResult> {
  const keys = await secretsOf(engine, endpoint, at)
  try {
    const { status, bytes, headers } = await retrieve(engine.outside, {
      url: new URL(endpoint.url),
      method: 'POST',
      headers: Object.entries({
        'content-type': 'application/json',
        'user-agent': 'Ukiyo-Webhooks',
        ...signWebhook(keys, { id: row.message_id, at, body: row.payload }),
      }).flat(),
      body: Buffer.from(row.payload),
      mostBytes: 1 << 20,
      timeoutMs: TIMEOUT_MS,
      hops: 0,
      credential: endpoint.id,
      party: endpoint.workspace_id,
      signal,
    })
    const error = status < 200 || status >= 300 ? `The response status was ${status}.` : null
    return { answer: { status, body: bytes.toString(), retryAfter: headers['retry-after'] }, error }
  } catch (error) {
    // Redirects count as errors, as do response bodies over the limit.
    if (error instanceof RetrieveFailed) return { answer: null, error: error.message }
    if (signal.aborted) return { answer: null, error: null }
    throw error
  }
}

/** The current secret and earlier ones that still overlap. */
async function secretsOf({ postgres, secrets }: Engine, endpoint: EndpointRow, at: Date): Promise<string[]> {
  const { id, secret, previous_secret, previous_expires_at } = endpoint
  const currentSecret = secrets.open(secret, id)
  if (previous_expires_at === null || previous_expires_at <= at) return [currentSecret]
  const formerSecrets = await endpointStore.formerSecrets(postgres.db, id, at)
  return [
    currentSecret,
    ...formerSecrets.map((former) => secrets.open(former.sealed_secret, former.id)),
    ...(previous_secret === null ? [] : [secrets.open(previous_secret, id)]),
  ]
}

const storable = (text: string): string => shorten(text.replaceAll('\0', ''), SHOWN_CHARACTERS).toWellFormed()
