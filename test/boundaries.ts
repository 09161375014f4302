/**
 * The rooms of the house and who may import whom, as data: `test/boundaries.test.ts` reads every import against this
 * table and draws it into `docs/architecture.md`. Paths are globs below `src/`.
 */
import { matchesGlob } from 'node:path'

export interface Room {
  /** The files whose imports this row rules: the first row that matches a file is its row. */
  files: string
  is: string
  /** The rooms that these files may import from besides their own. */
  may: readonly string[]
  /** The reach of their own room: null where only `may` holds, as for contracts. Else the row's own folder. */
  own?: null
}

const AREA = ['core/**', 'infra/**', 'authz/**', 'config.ts', 'modules/*/{contract,service}.ts'] as const

export const ROOMS: readonly Room[] = [
  {
    files: '{app,main,health,lean,reset-password}.ts',
    is: '`app.ts` is the only composition root: it builds everything, holds every handle, and takes it down in reverse. The others are the programs and the health check around it',
    may: ['**'],
  },
  {
    files: 'ops/**',
    is: 'what `uk` does on the host of an instance, with its database and files and without its server: backup, restore, doctor',
    may: ['core/**', 'infra/**', 'modules/**', 'config.ts'],
  },
  {
    files: '{config,settings}.ts',
    is: 'the settings: their words for `uk config`, and how each is read',
    may: ['core/**', 'settings.ts'],
  },
  { files: 'core/**', is: 'the language: contracts, errors, ids, money, scopes, paging; pure, no I/O', may: [] },
  {
    files: 'infra/**',
    is: 'machinery that keeps state or reaches outside: PostgreSQL, ledger, blobs, bus, jobs, outbox, the HTTP client, text of documents, pattern matching, mail, secrets, log',
    may: ['core/**', 'config.ts'],
  },
  {
    files: 'authz/**',
    is: 'who may reach what, and what is kept of it: resources, lifecycle, shares, rights, audit',
    may: ['core/**', 'infra/**'],
  },
  {
    files: 'pipeline/**',
    is: 'the path of one call: `admit.ts` for every way in, `rest/`, `agent/`, `fast-http/`',
    may: ['core/**', 'infra/**', 'authz/**', 'config.ts'],
  },
  {
    files: 'gateway/**',
    is: 'three surfaces for clients, one life of a metered call, what passes through and what is translated, a file per provider, prices, simulated models; endpoints, catalogue and caps reach it through the `Directory` that it declares',
    may: ['core/**', 'infra/**', 'config.ts', 'pipeline/admit.ts'],
  },
  {
    files: 'modules/*.ts',
    is: 'the lists of all contracts, services, event types and background work',
    may: ['modules/**', 'core/**', 'infra/**', 'authz/**'],
  },
  {
    files: 'modules/*/contract*.ts',
    is: "an area's contract: what may be asked and what comes back; the CLI and the app import it too",
    may: ['core/**', 'modules/*/contract.ts'],
    own: null,
  },
  {
    files: 'modules/computers/**',
    is: 'computers: rows, grants, and the server’s end of the link',
    may: [...AREA, 'daemon-protocol/**'],
  },
  {
    files: 'modules/{ai-gateway,chats,inference,media,models}/**',
    is: 'the areas that call models',
    may: [...AREA, 'gateway/**'],
  },
  {
    files: 'modules/*/**',
    is: 'one resource area: `contract` · `service` · `store` · rooms of its own where it is large · its stories',
    may: AREA,
  },
  {
    files: 'daemon-protocol/**',
    is: 'what server and daemon say to each other: frames, streams with credit, the table of operations; pure',
    may: ['core/**'],
  },
  {
    files: 'daemon/**',
    is: 'the program on a paired computer: the link, the keeper of terminals and commands, files, ports, users, engines',
    may: ['core/**', 'daemon-protocol/**', 'modules/contracts.ts', 'modules/*/contract.ts'],
  },
  {
    files: 'interfaces/cli/commands/computer*.ts',
    is: '`uk computer`, which runs the daemon and speaks to terminals',
    may: ['core/**', 'config.ts', 'daemon-protocol/**', 'daemon/**', 'modules/contracts.ts', 'modules/*/contract.ts'],
  },
  {
    files: 'interfaces/cli/routes/routes.ts',
    is: '`uk routes`, which says what the surfaces take as well',
    may: ['core/**', 'modules/contracts.ts', 'modules/*/contract.ts', 'gateway/surfaces/**'],
  },
  {
    files: 'interfaces/client-package/**',
    is: 'the types and routes of the client that is published, and its build',
    may: ['core/**', 'modules/contracts.ts', '../packages/client/src/route.ts'],
  },
  {
    files: 'interfaces/**',
    is: 'readings of the registry: OpenAPI, client, CLI, MCP, docs; and the built app on its way out',
    may: ['core/**', 'config.ts', 'modules/contracts.ts', 'modules/*/contract.ts'],
  },
  { files: '../packages/**', is: 'what is published beside the server: the typed client', may: [] },
  {
    files: '../web/**',
    is: 'the app: React, built by Vite, served at `/app`',
    may: [
      'core/**',
      'interfaces/client.ts',
      'interfaces/schemas.ts',
      'interfaces/docs/examples/code.ts',
      'interfaces/docs/browser/**',
      'modules/contracts.ts',
    ],
  },
]

const below = (path: string): string => (path.startsWith('src/') ? path.slice(4) : `../${path}`)
const rowOf = (path: string): Room | undefined => ROOMS.find(({ files }) => matchesGlob(below(path), files))

/** The first folder under `src/`, or the file itself; the app, and what is published beside the server. */
export const roomOf = (path: string): string => /^(web|packages)\//.exec(path)?.[1] ?? path.split('/')[1]!
/** The folder in which a file may import freely: its area, or its room. */
const homeOf = (path: string): string => /^src\/modules\/[^/]+\//.exec(path)?.[0] ?? roomOf(path)
const isContract = (path: string): boolean => /^src\/modules\/[^/]+\/contract[^/]*\.ts$/.test(path)

export function isAllowed(from: string, to: string): boolean {
  const row = rowOf(from)
  if (row === undefined) return false
  if (homeOf(from) === homeOf(to) && (row.own !== null || isContract(to))) return true
  return row.may.some((glob) => matchesGlob(below(to), glob))
}

/** The table of `docs/architecture.md`. */
export function table(): string {
  const plain = (glob: string): string => glob.replaceAll('/**', '').replace('../', '')
  const rows = ROOMS.map(({ files, is, may }) => {
    const words =
      may.length === 0
        ? 'nothing of ours'
        : may.map((glob) => (glob === '**' ? 'everything' : `\`${plain(glob)}\``)).join(', ')
    return `| \`${plain(files)}\` | ${is} | ${words} |`
  })
  return `| files of \`src\` | what they are | besides their own room they may import |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** A Mermaid drawing of the rooms: an arrow for every import that there is. */
export function diagram(edges: readonly (readonly [string, string])[]): string {
  const name = (room: string): string => room.replace('.ts', '')
  const arrows = new Set(
    edges.filter(([from, to]) => from !== to).map(([from, to]) => `  ${name(from)} --> ${name(to)}`),
  )
  return `\`\`\`mermaid\nflowchart LR\n${[...arrows].toSorted().join('\n')}\n\`\`\`\n`
}
