/**
 * What the app needs of the contracts is where each call goes: method, path, which fields travel in the query, and what
 * kind of answer comes back. Types are gone at run time, and the rules are the server's. So the build reads the contracts
 * once and hands the app a table of lines, a tenth of what the schemas and their library would take.
 */
import type { Plugin } from 'vite'

const SOURCE = '#modules/contracts.ts'
const RESOLVED = `\0${SOURCE}`

/** Of an endpoint what is read here (`AnyEndpoint` of the kernel, which this file must not load). */
interface Route {
  method: string
  path: string
  greedy?: boolean
  query?: object
  body?: object
  reply: { kind: string; or?: unknown }
}
type Loaders = Record<string, () => Promise<{ endpoints: Record<string, Route> }>>

/** Fields that page through a list travel in the query, unless the body names them. */
const PAGING = ['limit', 'cursor', 'offset']

/**
 * `PATCH /things/:id one - ?dry =limit`: where it goes, what comes back, marks (`g` a greedy path, `o` another answer, `-`
 * none), what else than usual travels in the query, and what in the body.
 */
function lineOf({ method, path, greedy, query = {}, body = {}, reply }: Route): string {
  const marks = `${greedy ? 'g' : ''}${reply.or === undefined ? '' : 'o'}` || '-'
  // A GET sends everything in its query but what its body names; anything else, the other way round. The body goes first.
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

/** The module that stands for `#modules/contracts.ts` in what is built. */
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
    // By a name that is made here: Vite would take the contracts into its own configuration.
    const { contracts } = (await import(new URL('../src/modules/contracts.ts', import.meta.url).href)) as {
      contracts: Loaders
    }
    return moduleOf(contracts)
  },
})
