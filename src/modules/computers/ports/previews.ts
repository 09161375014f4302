/** Serves the hosts of previews: each request or socket goes to one port of one computer over its own connection. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Engine } from '#infra/context.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { HostMount } from '#core/http/exchange.ts'
import type { Authority } from '#core/principal.ts'
import type { HasLinks } from '../link/links.ts'
import { type PreviewAddress, previewAt } from './address.ts'
import { type Admission, ENTER, type Pass, createAdmission } from './admission.ts'
import { forwardRequest, forwardUpgrade, headOf, pathOf } from './forward.ts'
import { saidTo } from './pages.ts'
import { ticketStore } from '../tickets/store.ts'
import { type Tunnel, dial } from './tunnel.ts'

/** A revoked right must end a use within 5 seconds. */
const CHECK_MS = 2_000
/** Requests and sockets that one pass may have open to one port. */
const MAX_USES = 512

/** An open request or socket. */
interface Use {
  pass: Pass
  address: PreviewAddress
  end(): void
}

export const previewMount = (
  engine: Engine<HasLinks>,
  authority: Pick<Authority, 'byKey' | 'renew'>,
): HostMount & Disposable => new PreviewMount(engine, authority)

class PreviewMount implements HostMount, Disposable {
  readonly #engine: Engine<HasLinks>
  readonly #admission: Admission
  readonly #uses = new Set<Use>()
  readonly #never = new AbortController().signal
  readonly #timer: NodeJS.Timeout
  #isChecking = false

  constructor(engine: Engine<HasLinks>, authority: Pick<Authority, 'byKey' | 'renew'>) {
    this.#engine = engine
    this.#admission = createAdmission(engine, authority)
    this.#timer = setInterval(() => void this.#checkUses(), CHECK_MS).unref()
  }

  owns(host: string | undefined): boolean {
    return this.#addressOf(host) !== null
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = this.#addressOf(request.headers.host)!
    try {
      if (pathOf(request.url!).split('?')[0] === ENTER) await this.#enter(request, response, address)
      else await this.#forward(request, response, address)
    } catch (error) {
      this.#log(error)
      if (response.headersSent || response.destroyed) return void response.destroy()
      const { status, head, body } = saidTo(request, error)
      response.writeHead(status, head).end(body)
    }
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      await this.#join(request, socket, head, this.#addressOf(request.headers.host)!)
    } catch (error) {
      this.#log(error)
      const page = saidTo(request, error)
      if (!socket.destroyed)
        socket.end(headOf(page.status, STATUS_CODES[page.status]!, [...page.head, 'Connection', 'close']) + page.body)
    }
  }

  end(): void {
    for (const use of this.#uses) use.end()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #addressOf(host: string | undefined): PreviewAddress | null {
    return previewAt(this.#engine.config.previewDomain, host)
  }

  #log(error: unknown): void {
    if (!(error instanceof Refusal)) this.#engine.log.error({ error }, 'a preview failed')
  }

  /** Checks each pass once, for all of its uses. */
  async #checkUses(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    for (const [first, ...others] of Map.groupBy(this.#uses, nameOf).values())
      await this.#admission.check(first!.pass, first!.address, this.#never).catch((error: unknown) => {
        // An unreachable database (503) doesn't revoke rights.
        if (error instanceof Refusal && error.status !== 503) for (const use of [first!, ...others]) use.end()
      })
    this.#isChecking = false
  }

  #register(pass: Pass, address: PreviewAddress, end: () => void): Disposable {
    const use = { pass, address, end }
    const name = nameOf(use)
    let others = 0
    for (const each of this.#uses) if (nameOf(each) === name) others++
    if (others >= MAX_USES) refuse('concurrency_limited')
    this.#uses.add(use)
    return { [Symbol.dispose]: () => void this.#uses.delete(use) }
  }

  async #admit(request: IncomingMessage, address: PreviewAddress): Promise<Pass> {
    const pass = this.#admission.passOf(request)
    if (pass === null)
      return refuse('missing_credentials', { message: 'This address is a port of a computer. Open it from Ukiyo.' })
    if (pass.kind === 'cookie') checkSameOrigin(request)
    await this.#admission.check(pass, address, this.#never)
    return pass
  }

  async #enter(request: IncomingMessage, response: ServerResponse, address: PreviewAddress): Promise<void> {
    if (request.method !== 'GET') refuse('method_not_allowed', { headers: { allow: 'GET' } })
    const ticket = new URL(request.url!, 'http://preview').searchParams.get('ticket') ?? ''
    const token = await ticketStore.redeem(this.#engine.postgres.db, address, ticket)
    if (token === null)
      return refuse('link_expired', {
        message: 'This link was already used or has expired. Open the port from Ukiyo again.',
      })
    response
      .writeHead(303, {
        location: '/',
        'set-cookie': this.#admission.cookieFor(token),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'content-length': 0,
      })
      .end()
  }

  async #forward(request: IncomingMessage, response: ServerResponse, address: PreviewAddress): Promise<void> {
    const pass = await this.#admit(request, address)
    let tunnel: Tunnel | null = null
    using _use = this.#register(pass, address, () => {
      tunnel?.destroy()
      response.destroy()
    })
    tunnel = await dial(this.#engine.links, address)
    const connection = tunnel
    if (response.destroyed) return void connection.destroy()
    response.once('close', () => connection.destroy())
    await forwardRequest(request, response, { connection, port: address.port, protocol: this.#protocol })
  }

  async #join(request: IncomingMessage, socket: Duplex, head: Buffer, address: PreviewAddress): Promise<void> {
    const pass = await this.#admit(request, address)
    let tunnel: Tunnel | null = null
    const end = (): void => {
      tunnel?.destroy()
      socket.destroy()
    }
    using _use = this.#register(pass, address, end)
    tunnel = await dial(this.#engine.links, address)
    const connection = tunnel
    if (socket.destroyed) return void connection.destroy()
    socket.once('close', end).once('error', end)
    connection.once('close', end).once('error', end)
    await forwardUpgrade(request, socket, head, { connection, port: address.port, protocol: this.#protocol })
  }

  get #protocol(): 'http' | 'https' {
    return this.#engine.origin().startsWith('https:') ? 'https' : 'http'
  }
}

const nameOf = ({ pass, address }: Pick<Use, 'pass' | 'address'>): string =>
  `${pass.kind} ${pass.kind === 'key' ? pass.secret : pass.token} ${address.computerId} ${address.port}`

/** Refuses a cookie sent by another site's page. It counts for this port's own pages and for navigation. */
function checkSameOrigin({ method, headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  // Not in a frame: a page of another port could frame this one for clickjacking.
  const isNavigation =
    method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  const foreign = (): never => refuse('cross_site', { message: 'Only pages on this port can send this request.' })
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isNavigation) foreign()
  const { origin } = headers
  // Browsers send `sec-fetch-site` only over https and to localhost. Pages that hide their origin send `null`.
  if (site === undefined && origin !== undefined && !origin.endsWith(`//${headers.host}`)) foreign()
}
