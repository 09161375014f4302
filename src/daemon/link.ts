import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { type Mux, type MuxOptions, overWebSocket } from '#daemon-protocol/link.ts'
import { LARGEST_FRAME } from '#packages/mux/frames.ts'
import { type Beat, keepAlive } from '#packages/mux/heartbeat.ts'
import { type DaemonHello, ServerHello, readHello } from '#daemon-protocol/hello.ts'
import { CLOSE } from '#packages/mux/mux.ts'
import { DaemonFault } from './state.ts'
import { shorten } from '#core/text/shorten.ts'

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 15_000
/** A link that stayed open this long resets the retry delay. */
const GOOD_MS = 10_000
const HANDSHAKE_MS = 10_000
const HELLO_MS = 15_000
/** How often a waiting daemon checks for a changed network address. */
const LOOK_MS = 500

export interface LinkParts {
  url: string
  credentials(): Promise<readonly string[]>
  hello(): DaemonHello
  answer: MuxOptions['answer']
  onFault(error: unknown): void
  say(line: string): void
  linked?(greeting: ServerHello): void
  /** The server closed a working link because the computer was deleted. */
  deleted?(): Promise<void>
  beat?: Beat
  socketPath?: () => string
  longestWaitMs?: number
  signal: AbortSignal
}

/** The abort reason when another version replaces this one and reconnects immediately. */
export const COMES_BACK = Symbol('another version takes its place')

type End =
  /** `ms`: how long the link was open. */
  | { kind: 'closed'; code: number; reason: string; ms: number }
  | { kind: 'unauthorized'; message: string }
  | { kind: 'failed'; reason: string; retryAfterMs: number | null }

/** Keeps a link to the server until `signal` aborts. Throws `DaemonFault` if the server doesn't know this machine. */
export async function keepLinked(parts: LinkParts): Promise<void> {
  let attempt = 0
  let saidLast: string | null = null
  // A 401 alone may come from a different instance at the same address. It must not stop what runs here.
  let wasEnded = false
  while (!parts.signal.aborted) {
    const end = await linkOnce(parts)
    if (parts.signal.aborted) return
    if (end.kind === 'unauthorized') {
      if (wasEnded) await parts.deleted?.()
      throw new DaemonFault('auth', `${parts.url} no longer knows this machine: ${end.message}`, PAIR_AGAIN)
    }
    if (end.kind === 'closed') wasEnded = end.code === CLOSE.unauthorized
    if (end.kind === 'closed' && end.ms > 0) {
      attempt = end.ms >= GOOD_MS || end.code === CLOSE.restart ? 0 : attempt
      saidLast = null
    }
    const restart = end.kind === 'closed' && end.code === CLOSE.restart
    const longest = restart
      ? FIRST_WAIT_MS
      : Math.min(parts.longestWaitMs ?? LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt++)
    const wait = (end.kind === 'failed' ? (end.retryAfterMs ?? 0) : 0) + Math.random() * longest
    const why = end.kind === 'closed' ? `lost the connection to ${parts.url} (${end.reason || end.code})` : end.reason
    if (why !== saidLast) parts.say(`${why}; retrying`)
    saidLast = why
    await waitForNetwork(wait, parts.signal)
  }
}

const PAIR_AGAIN = 'Pair it again: `uk computer pair`.'

async function linkOnce(parts: LinkParts): Promise<End> {
  let end: End = { kind: 'failed', reason: 'this machine has no credential', retryAfterMs: null }
  for (const credential of await parts.credentials()) {
    end = await linkBy(parts, credential)
    if (end.kind !== 'unauthorized') return end
  }
  return end
}

function dialServer(url: string, credential: string, socketPath?: () => string): WebSocket {
  const server = socketPath ? `ws+unix:${socketPath()}:` : url.replace(/^http/, 'ws')
  return new WebSocket(`${server}/v1/computers/link`, {
    headers: { authorization: `Bearer ${credential}` },
    perMessageDeflate: false,
    maxPayload: LARGEST_FRAME,
    skipUTF8Validation: true,
    handshakeTimeout: HANDSHAKE_MS,
    followRedirects: false,
    ...(needsMask(url) ? {} : { generateMask: () => {} }),
  })
}

/** Checks that the server is reachable and knows this machine. Closes before HELLO, so no link is replaced. */
export function knock(url: string, credential: string): Promise<void> {
  const socket = dialServer(url, credential)
  return new Promise((resolve, reject) => {
    socket.on('error', reject).once('open', () => {
      socket.terminate()
      resolve()
    })
  })
}

/** Whether the server knows this machine by one of these credentials. Null if the server can't be reached. */
export async function isKnownTo(url: string, credentials: readonly string[]): Promise<boolean | null> {
  for (const credential of credentials) {
    const isKnown = await knock(url, credential).then(
      () => true,
      (error: Error) => (error.message.endsWith(' 401') ? false : null),
    )
    if (isKnown !== false) return isKnown
  }
  return false
}

function linkBy(
  { url, hello, answer, onFault, say, linked, beat, socketPath, signal }: LinkParts,
  credential: string,
): Promise<End> {
  return new Promise((resolve) => {
    const socket = dialServer(url, credential, socketPath)
    let since = 0
    const leave = (): void =>
      mux === null
        ? socket.terminate()
        : mux.close(signal.reason === COMES_BACK ? CLOSE.restart : 1000, 'the daemon stops')
    signal.addEventListener('abort', leave, { once: true })
    const settle = (end: End): void => {
      signal.removeEventListener('abort', leave)
      resolve(end)
    }
    let mux: Mux | null = null
    socket.once('error', (error: NodeJS.ErrnoException & { errors?: Error[] }) =>
      settle({
        kind: 'failed',
        reason: `${url} does not answer: ${error.errors?.[0]?.message ?? error.message}`,
        retryAfterMs: null,
      }),
    )
    socket.once('unexpected-response', (request, response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text = shorten(text + part, 4_096)))
      response.once('close', () => {
        settle(refusedBy(url, response.statusCode ?? 0, text, response.headers['retry-after']))
        request.destroy()
      })
    })
    socket.once('open', () => {
      // Covers a server that stops, or a proxy that swallows its messages.
      const late = setTimeout(() => newMux.close(CLOSE.silent, 'no HELLO from the server'), beat?.deadMs ?? HELLO_MS)
      const newMux = overWebSocket(socket, {
        opens: 'odd',
        onHello(given) {
          clearTimeout(late)
          const greeting = readHello(ServerHello, given)
          since = performance.now()
          keepAlive(newMux, beat)
          watchClock(newMux)
          newMux.ping()
          linked?.(greeting)
          say(`connected to ${url}`)
        },
        answer,
        onFault,
        onClose(code, reason) {
          clearTimeout(late)
          settle({ kind: 'closed', code, reason, ms: since === 0 ? 0 : performance.now() - since })
        },
      })
      mux = newMux
      newMux.hello(hello())
    })
  })
}

/**
 * Masks protect plain-HTTP proxies from chosen bytes (RFC 6455, 10.3), but cost four times as much as the rest of
 * sending. Over TLS and loopback the mask is zero.
 */
const needsMask = (url: string): boolean => {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

function refusedBy(url: string, status: number, text: string, retryAfter: string | undefined): End {
  let message = ''
  try {
    message = shorten(String((JSON.parse(text) as { error: { message: unknown } }).error.message), 500)
  } catch {
    // An HTML page or another body that isn't from our API.
  }
  if (status === 401) return { kind: 'unauthorized', message }
  const seconds = Number(retryAfter)
  return {
    kind: 'failed',
    reason: `${url} answered with ${status}${message === '' ? ': is it a Ukiyo server, and does a proxy before it pass WebSockets?' : `: ${message}`}`,
    retryAfterMs: seconds > 0 && seconds < 3_600 ? seconds * 1_000 : null,
  }
}

const CLOCK_MS = 2_000
const ANSWER_MS = 5_000

/** After sleep, a dead link looks alive. If the wall clock has jumped, pings the server immediately. */
function watchClock(mux: Mux): void {
  let ahead = Date.now() - performance.now()
  const timer = setInterval(() => {
    if (mux.closed) return clearInterval(timer)
    const now = Date.now() - performance.now()
    if (Math.abs(now - ahead) > CLOCK_MS) {
      const { heard } = mux
      mux.ping()
      setTimeout(() => {
        if (mux.heard === heard) mux.close(CLOSE.silent, 'no data after the clock jumped')
      }, ANSWER_MS).unref()
    }
    ahead = now
  }, CLOCK_MS).unref()
}

async function waitForNetwork(ms: number, signal: AbortSignal): Promise<void> {
  const before = addresses()
  const until = performance.now() + ms
  while (performance.now() < until && !signal.aborted) {
    await sleep(Math.min(LOOK_MS, until - performance.now()), undefined, { signal }).catch(() => {})
    if (addresses() !== before) return
  }
}

const addresses = (): string =>
  Object.values(networkInterfaces())
    .flatMap((all) => all?.map(({ address }) => address) ?? [])
    .toSorted()
    .join(' ')
