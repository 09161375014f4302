import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { type LookupFunction, isIP } from 'node:net'
import type { Dispatcher } from 'undici'
import type { AddressPolicy } from './address.ts'
import { type Connector, type Destination, createConnector } from './lanes/connector.ts'
import { headOf } from './head.ts'
import { NO_CONNECTION } from './lanes/lane.ts'
import { Lanes } from './lanes/lanes.ts'
import { LIMITS, type Limits } from './limits.ts'
import type { Send } from './send.ts'

export class AddressRefused extends Error {
  override name = 'AddressRefused'
  readonly code = 'UK_ADDRESS_REFUSED'
  constructor(host: string) {
    super(`${host} resolves to a private or reserved address, which isn’t allowed.`)
  }
}

/**
 * HTTP client for user-provided addresses. Checks the address on connect, independent of the name or DNS answer behind
 * it. Never follows redirects, and bounds every wait.
 */
export interface Outbound extends AsyncDisposable {
  /** Failures go to `handler.onResponseError`. Back pressure with `controller.pause` and `resume`. */
  dispatch(send: Send, handler: Dispatcher.DispatchHandler): void
}

const CLOCK_MS = 1_000

export function createOutbound(policy: AddressPolicy, overrides: Partial<Limits> = {}): Outbound {
  const limits = { ...LIMITS, ...overrides }
  const { connectMs } = limits
  const lanes = new Lanes((origin, mayBePrivate) => {
    const to = destinationOf(origin)
    return mayBePrivate ? createConnector(to, { timeoutMs: connectMs }) : checkedConnector(policy, to, connectMs)
  })
  const clock = Math.min(CLOCK_MS, limits.headMs, limits.idleMs, limits.wholeMs, limits.streamMs, limits.errorMs)
  const timer = setInterval(() => lanes.turn(clock), clock).unref()

  return {
    dispatch(send, handler) {
      const { method, body, lead, party, streamed = null, withinMs = Infinity } = send
      let head: string
      try {
        head = headOf(send)
      } catch (error) {
        return handler.onResponseError?.(NO_CONNECTION, error as Error)
      }
      if (lead !== undefined) head += lead
      lanes.of(send).dispatch({ method, head, body, streamed, handler, party, limits, withinMs, elapsedMs: 0 })
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      lanes.destroy()
    },
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

/** The connection uses this lookup's answer, so DNS rebinding can't change it afterwards. */
function checkedLookup(policy: AddressPolicy, host: string, port: number): LookupFunction {
  return (name, how, done) => {
    const onAddresses = (addresses: readonly LookupAddress[]): void => {
      const permittedAddresses = addresses.filter(({ address }) => policy.permits(host, address, port))
      if (permittedAddresses.length === 0) return done(new AddressRefused(host), '', 0)
      if (how.all) return done(null, permittedAddresses)
      done(null, permittedAddresses[0]!.address, permittedAddresses[0]!.family)
    }
    lookUp(name, how).then(onAddresses, (error: NodeJS.ErrnoException) => done(error, '', 0))
  }
}

const underWay = new Map<string, Promise<LookupAddress[]>>()

/** Concurrent lookups of a name are shared: the system runs two at a time, and some take seconds. */
function lookUp(name: string, how: LookupOptions): Promise<LookupAddress[]> {
  const key = `${name} ${how.family ?? 0} ${how.hints ?? 0}`
  let pendingLookup = underWay.get(key)
  if (pendingLookup !== undefined) return pendingLookup
  pendingLookup = new Promise((resolve, reject) => {
    lookup(name, { ...how, all: true }, (error, addresses) => {
      underWay.delete(key)
      if (error) reject(error)
      else resolve(addresses)
    })
  })
  underWay.set(key, pendingLookup)
  return pendingLookup
}
