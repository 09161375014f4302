/** Compares the specification's routes with the registry: `npm run routes`, `uk routes`. */
import { loadContracts } from '#modules/contracts.ts'
import type { Area } from '#core/contract.ts'
import { list } from '#core/registry.ts'
import { compatA } from '#gateway/surfaces/compat-a/surface.ts'
import { compatB } from '#gateway/surfaces/compat-b/surface.ts'
import { compatC } from '#gateway/surfaces/compat-c/surface.ts'
import { type Terminal, createTerminal } from '../terminal.ts'
import { lawRoutes } from './law-routes.ts'

export interface Compared {
  route: string
  /** The endpoint's name, `gateway`, or null if missing. */
  served_by: string | null
}

/** Gateway routes come from the surfaces; they aren't endpoints. */
const onSurfaces: readonly string[] = [compatA, compatB, compatC].flatMap(({ roots, routes }) =>
  roots.flatMap((root) =>
    Object.entries(routes).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${root}${path}`),
    ),
  ),
)

/** Ignores parameter names. */
const placesOf = (route: string): string => route.replace(/:\w+/g, ':')

export function compareRoutes(areas: readonly Area[], gateway: readonly string[] = onSurfaces): Compared[] {
  const endpoints = new Map(
    list(areas).map(({ name, endpoint }) => [placesOf(`${endpoint.method} ${endpoint.path}`), name]),
  )
  return lawRoutes.map((route) => {
    const onGateway = route.includes('{gateway_url}')
    const surface = gateway.includes(route.replace('{gateway_url}', '')) ? 'gateway' : null
    return { route, served_by: onGateway ? surface : (endpoints.get(placesOf(route)) ?? null) }
  })
}

/** Prints each route with its endpoint, and a count. Returns 1 if one is missing. */
export async function routes(words: readonly string[], terminal: Terminal): Promise<number> {
  const compared = compareRoutes(await loadContracts())
  const missing = compared.filter(({ served_by }) => served_by === null)
  if (words.includes('--json')) await terminal.out(`${JSON.stringify(compared)}\n`)
  else {
    const width = Math.max(...compared.map(({ route }) => route.length))
    const lines = compared.map(
      ({ route, served_by }) => `${route.padEnd(width)}  ${served_by ?? terminal.style('red', 'missing')}\n`,
    )
    await terminal.out(lines.join(''))
    terminal.err(`${compared.length - missing.length} of ${compared.length} routes are served`)
  }
  return missing.length === 0 ? 0 : 1
}

if (import.meta.main) process.exitCode = await routes(process.argv.slice(2), createTerminal(process))
