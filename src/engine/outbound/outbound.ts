import { lookup } from 'node:dns'
import { type LookupFunction, isIP } from 'node:net'
import type { Dispatcher } from 'undici'
import type { AddressPolicy } from './address.ts'
import { type Connector, type Destination, createConnector } from './connector.ts'
import { headOf } from './head.ts'
import type { Send } from './send.ts'
import { Lane, NO_CONNECTION } from './lane.ts'

/** The address that a name led to is private and not allowed. */
export class AddressRefused extends Error {
  override name = 'AddressRefused'
  readonly code = 'UK_ADDRESS_REFUSED'
  constructor(host: string) {
    super(`${host} leads to a private or reserved address, and those are not allowed here.`)
  }
}

/**
 * Everything that leaves for an address somebody gave goes through here: the address is checked when it is connected
 * to, whatever name, redirect or DNS answer led there; redirects are never followed; every wait is bounded.
 */
export interface Outbound extends AsyncDisposable {
  /** What goes wrong arrives at `handler.onResponseError`. Back-pressure by `controller.pause` and `resume`. */
  dispatch(send: Send, handler: Dispatcher.DispatchHandler): void
}

export interface OutboundTimes {
  connectMs: number
  /** Until the head of the answer: a model may think for minutes before its first byte. */
  headersMs: number
  /** Between two pieces of the body. */
  bodyMs: number
}

const TIMES: OutboundTimes = { connectMs: 10_000, headersMs: 600_000, bodyMs: 300_000 }
const LANES = 512
const CONNECTIONS = 1_024
/** What waits too long is given up within this much after its time. */
const CLOCK_MS = 1_000

export function createOutbound(policy: AddressPolicy, times: Partial<OutboundTimes> = {}): Outbound {
  const { connectMs, headersMs, bodyMs } = { ...TIMES, ...times }
  const checked = new Map<string, Lane>()
  const unchecked = new Map<string, Lane>()
  const clock = Math.min(CLOCK_MS, headersMs, bodyMs)
  const timer = setInterval(() => {
    for (const lanes of [checked, unchecked]) for (const lane of lanes.values()) lane.turn(clock / 1000)
  }, clock).unref()

  function laneOf(origin: string, mayBePrivate: boolean): Lane {
    const lanes = mayBePrivate ? unchecked : checked
    const known = lanes.get(origin)
    if (known) return known
    if (lanes.size >= LANES) dropIdle(lanes)
    const url = new URL(origin)
    const to = destinationOf(url)
    const lane = new Lane(url.host, {
      connect: mayBePrivate ? createConnector(to, { timeoutMs: connectMs }) : checkedConnector(policy, to, connectMs),
      mostConnections: CONNECTIONS,
      // Plain HTTP servers of local engines close idle connections after 5 s without saying so.
      idleSeconds: origin.startsWith('https:') ? 55 : 4,
    })
    lanes.set(origin, lane)
    return lane
  }

  return {
    dispatch(send, handler) {
      const { origin, method, body, lead, mayBePrivate } = send
      let head: string
      try {
        head = headOf(send)
      } catch (error) {
        return handler.onResponseError?.(NO_CONNECTION, error as Error)
      }
      laneOf(origin, mayBePrivate === true).dispatch({
        method,
        head: lead === undefined ? head : head + lead,
        body,
        handler,
        headersMs: send.headersTimeoutMs ?? headersMs,
        bodyMs: send.bodyTimeoutMs ?? bodyMs,
      })
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      for (const lanes of [checked, unchecked]) for (const lane of lanes.values()) lane.destroy()
    },
  }
}

/** Users name origins, so their number must be bounded: the oldest that are not in use go. */
function dropIdle(lanes: Map<string, Lane>): void {
  for (const [origin, lane] of lanes) {
    if (!lane.idle) continue
    lanes.delete(origin)
    lane.destroy()
    if (lanes.size < LANES * 0.9) return
  }
}

function destinationOf({ protocol, hostname, port }: URL): Destination {
  return {
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
  }
}

function checkedConnector(policy: AddressPolicy, to: Destination, timeoutMs: number): Connector {
  const { hostname, port } = to
  const connect = createConnector(to, { timeoutMs, lookup: checkedLookup(policy, hostname, port) })
  return (done) => {
    if (isIP(hostname) && !policy.permits(hostname, hostname, port)) done(new AddressRefused(hostname), null)
    else connect(done)
  }
}

/** The very look-up whose answer is connected to: a second answer of a rebinding name is never asked for. */
function checkedLookup(policy: AddressPolicy, host: string, port: number): LookupFunction {
  return (name, how, done) => {
    lookup(name, { ...how, all: true }, (error, addresses) => {
      if (error) return done(error, '', 0)
      const permitted = addresses.filter(({ address }) => policy.permits(host, address, port))
      if (permitted.length === 0) return done(new AddressRefused(host), '', 0)
      if (how.all) return done(null, permitted)
      done(null, permitted[0]!.address, permitted[0]!.family)
    })
  }
}
