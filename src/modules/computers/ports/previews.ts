/** The origins of previews: each request and each socket goes to one port of one computer, by a connection of its own. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Engine } from '#infra/context.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { HostMount } from '#core/http/exchange.ts'
import type { Authority } from '#core/principal.ts'
import type { HasLinks } from '../link/links.ts'
import { type PreviewAddress, previewAt } from './address.ts'
import { ENTER, type Pass, createAdmission } from './admission.ts'
import { requestHead, responseHead } from './heads.ts'
import { saidTo } from './pages.ts'
import { ticketStore } from '../tickets/store.ts'
import { type Tunnel, dial } from './tunnel.ts'

// Node's module is not imported: an import reads all that the module offers, and some of that loads the whole of Node's
// `fetch`: 10 MB.
const http = process.getBuiltinModule('node:http')

/** The time between two looks at the rights: a revoked right ends a use within 5 seconds. */
const LOOK_MS = 2_000
/** The time in which a program must begin its answer. */
const HEAD_MS = 120_000
/** The most that one pass may have open to one port at the same time. */
const MOST_OPEN = 512

interface Open {
  pass: Pass
  at: PreviewAddress
  end(): void
}

export function previewMount(
  engine: Engine<HasLinks>,
  authority: Pick<Authority, 'byKey' | 'renew'>,
): HostMount & Disposable {
  const admission = createAdmission(engine, authority)
  const open = new Set<Open>()
  const never = new AbortController().signal
  const at = (host: string | undefined): PreviewAddress | null => previewAt(engine.config.previewDomain, host)
  const nameOf = ({ pass, at }: Pick<Open, 'pass' | 'at'>): string =>
    `${pass.kind} ${pass.kind === 'key' ? pass.secret : pass.token} ${at.computerId} ${at.port}`
  let looking = false

  /** Looks at each pass once, however much it has open. */
  async function look(): Promise<void> {
    if (looking) return
    looking = true
    const byName = Map.groupBy(open, nameOf)
    for (const [first, ...others] of byName.values())
      await admission.check(first!.pass, first!.at, never).catch((error: unknown) => {
        // A database that does not answer takes no right away.
        if (error instanceof Refusal && error.status !== 503) for (const one of [first!, ...others]) one.end()
      })
    looking = false
  }
  const timer = setInterval(() => void look(), LOOK_MS).unref()

  function keep(pass: Pass, at: PreviewAddress, end: () => void): Disposable {
    const one = { pass, at, end }
    const name = nameOf(one)
    let others = 0
    for (const known of open) if (nameOf(known) === name) others++
    if (others >= MOST_OPEN) refuse('concurrency_limited')
    open.add(one)
    return { [Symbol.dispose]: () => void open.delete(one) }
  }

  async function admit(request: IncomingMessage, at: PreviewAddress): Promise<Pass> {
    const pass = admission.passOf(request)
    if (pass === null)
      return refuse('missing_credentials', { message: 'This address is a port of a computer. Open it from Ukiyo.' })
    if (pass.kind === 'cookie') checkSameOrigin(request)
    await admission.check(pass, at, never)
    return pass
  }

  async function enter(request: IncomingMessage, response: ServerResponse, at: PreviewAddress): Promise<void> {
    if (request.method !== 'GET') refuse('method_not_allowed', { headers: { allow: 'GET' } })
    const ticket = new URL(request.url!, 'http://preview').searchParams.get('ticket') ?? ''
    const token = await ticketStore.redeem(engine.postgres.db, at, ticket)
    if (token === null)
      return refuse('link_expired', {
        message: 'This link was already used or has expired. Open the port from Ukiyo again.',
      })
    response
      .writeHead(303, {
        location: '/',
        'set-cookie': admission.cookieFor(token),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'content-length': 0,
      })
      .end()
  }

  const ask = (request: IncomingMessage, tunnel: Tunnel, upgrade: boolean) =>
    http.request({
      createConnection: () => tunnel,
      method: request.method!,
      path: pathOf(request.url!),
      setHost: false,
      // The fields go one after the other, as they came.
      headers: requestHead({
        method: request.method!,
        rawHeaders: request.rawHeaders,
        host: request.headers.host!,
        protocol: engine.origin().startsWith('https:') ? 'https' : 'http',
        upgrade,
      }),
    })

  async function forward(request: IncomingMessage, response: ServerResponse, at: PreviewAddress): Promise<void> {
    const pass = await admit(request, at)
    let tunnel: Tunnel | null = null
    using _kept = keep(pass, at, () => {
      tunnel?.destroy()
      response.destroy()
    })
    tunnel = await dial(engine.links, at)
    const connection = tunnel
    if (response.destroyed) return void connection.destroy()
    response.once('close', () => connection.destroy())
    await new Promise<void>((resolve, reject) => {
      response.once('close', resolve)
      const out = ask(request, connection, false)
      const late = setTimeout(() => {
        reject(new Refusal('timeout', { message: `The program on port ${at.port} didn’t respond.` }))
        out.destroy()
      }, HEAD_MS)
      out.once('error', () => {
        clearTimeout(late)
        if (response.headersSent) return void response.destroy()
        reject(
          new Refusal('upstream_error', {
            message: `The program on port ${at.port} closed the connection or doesn’t support HTTP.`,
          }),
        )
      })
      out.once('response', (answer) => {
        clearTimeout(late)
        try {
          response.writeHead(answer.statusCode!, answer.statusMessage, responseHead(answer.rawHeaders))
        } catch {
          return reject(new Refusal('upstream_error', { message: 'The program’s response isn’t valid HTTP.' }))
        }
        response.flushHeaders()
        answer.once('error', () => response.destroy()).once('close', () => void (answer.complete || response.destroy()))
        answer.pipe(response)
      })
      request.once('error', () => out.destroy())
      request.pipe(out)
    })
  }

  async function join(request: IncomingMessage, socket: Duplex, head: Buffer, at: PreviewAddress): Promise<void> {
    const pass = await admit(request, at)
    let tunnel: Tunnel | null = null
    const end = (): void => {
      tunnel?.destroy()
      socket.destroy()
    }
    using _kept = keep(pass, at, end)
    tunnel = await dial(engine.links, at)
    const connection = tunnel
    if (socket.destroyed) return void connection.destroy()
    socket.once('close', end).once('error', end)
    connection.once('close', end).once('error', end)
    await new Promise<void>((resolve, reject) => {
      socket.once('close', resolve)
      const out = ask(request, connection, true)
      const late = setTimeout(() => out.destroy(), HEAD_MS)
      out.once('error', () => {
        clearTimeout(late)
        reject(new Refusal('upstream_error', { message: `The program on port ${at.port} closed the connection.` }))
      })
      const say = (answer: IncomingMessage, more: string[]): boolean => {
        clearTimeout(late)
        return socket.write(
          headOf(answer.statusCode!, answer.statusMessage!, [...responseHead(answer.rawHeaders), ...more]),
          'latin1',
        )
      }
      out.once('upgrade', (answer, _, first) => {
        say(answer, ['Connection', 'Upgrade', 'Upgrade', 'websocket'])
        if (first.length > 0) socket.write(first)
        if (head.length > 0) connection.write(head)
        connection.pipe(socket)
        socket.pipe(connection)
      })
      out.once('response', (answer) => {
        say(answer, ['Connection', 'close'])
        answer.pipe(socket)
      })
      out.end()
    })
  }

  return {
    owns: (host) => at(host) !== null,
    async handle(request, response) {
      const to = at(request.headers.host)!
      try {
        if (pathOf(request.url!).split('?')[0] === ENTER) await enter(request, response, to)
        else await forward(request, response, to)
      } catch (error) {
        tell(error)
        if (response.headersSent || response.destroyed) return void response.destroy()
        const { status, head, body } = saidTo(request, error)
        response.writeHead(status, head).end(body)
      }
    },
    async upgrade(request, socket, head) {
      try {
        await join(request, socket, head, at(request.headers.host)!)
      } catch (error) {
        tell(error)
        const said = saidTo(request, error)
        if (!socket.destroyed)
          socket.end(headOf(said.status, STATUS_CODES[said.status]!, [...said.head, 'Connection', 'close']) + said.body)
      }
    },
    end() {
      for (const one of open) one.end()
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }

  function tell(error: unknown): void {
    if (!(error instanceof Refusal)) engine.log.error({ error }, 'a preview failed')
  }
}

const headOf = (status: number, words: string, fields: readonly string[]): string => {
  let head = `HTTP/1.1 ${status} ${words}\r\n`
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
  return `${head}\r\n`
}

/** The path of a request, which may name its target whole (RFC 9112, 3.2.2). */
function pathOf(url: string): string {
  if (url.startsWith('/')) return url
  const { pathname, search } = URL.canParse(url) ? new URL(url) : { pathname: '/', search: '' }
  return pathname + search
}

/**
 * Refuses a cookie that a foreign page sends: it speaks for its person only in what their own pages of this port ask,
 * and where they go by themselves.
 */
function checkSameOrigin({ method, headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  // The page goes into no frame: a page of another port around this one would have them click what they do not see.
  const goes = method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  const foreign = (): never => refuse('cross_site', { message: 'Only pages on this port can send this request.' })
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !goes) foreign()
  const { origin } = headers
  // Browsers tell the site over https and to this machine alone. `null` is what any page says that hides where it is.
  if (site === undefined && origin !== undefined && !origin.endsWith(`//${headers.host}`)) foreign()
}
