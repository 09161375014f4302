/**
 * Reduces the contracts to a route table: method, path, query fields and reply kind of each call. Types are gone at run
 * time, and validation is up to the server. The table is a tenth of the size of the schemas and their library.
 */
import type { Plugin } from 'vite'

const SOURCE = '#modules/contracts.ts'
const RESOLVED = `\0${SOURCE}`

/** The fields read here (`AnyEndpoint` in core, which this file must not load). */
interface Route {
  method: string
  path: string
  greedy?: boolean
  query?: object
  body?: object
  reply: { kind: string; or?: unknown }
}
type Loaders = Record<string, () => Promise<{ endpoints: Record<string, Route> }>>

/** Paging fields go in the query, unless the body has them. */
const PAGING = ['limit', 'cursor', 'offset']

/**
 * One line per endpoint, such as `PATCH /things/:id one - ?dry =limit`: method, path, reply kind, flags (`g` greedy
 * path, `o` other reply, `-` none), additional query fields, and body fields.
 */
function lineOf({ method, path, greedy, query = {}, body = {}, reply }: Route): string {
  const marks = `${greedy ? 'g' : ''}${reply.or === undefined ? '' : 'o'}` || '-'
  // A GET sends all fields in the query except those of the body; other methods the other way round.
  const inBody = Object.keys(body).filter((name) => method === 'GET' || PAGING.includes(name))
  const inQuery = Object.keys(query).filter((name) => method !== 'GET' && !(name in body))
  const also = `${inQuery.length > 0 ? ` ?${inQuery.join(',')}` : ''}${inBody.length > 0 ? ` =${inBody.join(',')}` : ''}`
  return `${method} ${path} ${reply.kind} ${marks}${also}`
}

const READER = `
const namesIn = (parts, mark) => {
  const part = parts.find((one) => one.startsWith(mark))
  return part === undefined ? {} : Object.fromEntries(part.slice(1).split(',').map((name) => [name, true]))
}
const read = (line) => {
  const [method, path, kind, marks, ...parts] = line.split(' ')
  return {
    method,
    path,
    greedy: marks.includes('g'),
    query: namesIn(parts, '?'),
    body: namesIn(parts, '='),
    reply: { kind, ...(marks.includes('o') && { or: true }) },
  }
}
const areaOf = (lines) => ({
  endpoints: Object.fromEntries(Object.entries(lines).map(([verb, line]) => [verb, read(line)])),
})
export const contracts = Object.fromEntries(
  Object.entries(table).map(([name, lines]) => {
    let area
    return [name, async () => (area ??= areaOf(lines))]
  }),
)
`

/** The module that replaces `#modules/contracts.ts` in the build. */
export async function moduleOf(contracts: Loaders): Promise<string> {
  const areas = Object.entries(contracts).map(async ([name, load]) => {
    const { endpoints } = await load()
    return [name, Object.fromEntries(Object.entries(endpoints).map(([verb, route]) => [verb, lineOf(route)]))] as const
  })
  return `const table = ${JSON.stringify(Object.fromEntries(await Promise.all(areas)))}\n${READER}`
}

export const contractRoutes = (): Plugin => ({
  name: 'contract-routes',
  enforce: 'pre',
  resolveId: (id) => (id === SOURCE ? RESOLVED : null),
  async load(id) {
    if (id !== RESOLVED) return null
    // A computed name, so that Vite doesn't bundle the contracts into its own configuration.
    const { contracts } = (await import(new URL('../src/modules/contracts.ts', import.meta.url).href)) as {
      contracts: Loaders
    }
    return moduleOf(contracts)
  },
})
