/**
 * The import rules between folders, as data. `test/boundaries.test.ts` checks every import against this table and
 * `docs/architecture.md` shows it. Paths are globs below `src/`. Packages import nothing of `src`.
 */
import { matchesGlob } from 'node:path'

export interface Room {
  /** The files this row applies to: the first matching row wins. */
  files: string
  is: string
  /** Folders these files may import from, besides their own. */
  may: readonly string[]
  /** Null: only `may` applies, as for contracts. Default: imports within the row's folder are allowed. */
  own?: null
}

const AREA = [
  'core/**',
  'infra/**',
  'authz/**',
  'config.ts',
  'modules/*/{contract,service}.ts',
  '../packages/{fair-queue,http-client,json-scan,linear-grep,media-tools}/**',
] as const
const APP = ['../web/src/{ui,shared}/**', 'core/**', 'interfaces/{client,schemas}.ts', 'modules/contracts.ts'] as const

export const ROOMS: readonly Room[] = [
  {
    files: '{app,create-engine,open-services,main,health,slim-image,reset-password}.ts',
    is: '`app.ts` is the only composition root: with `open-services.ts` and `create-engine.ts` it builds everything, holds every handle, and shuts down in reverse order. The others are the programs and the health check',
    may: ['**', '../packages/**'],
  },
  {
    files: 'ops/**',
    is: 'commands that run on the host with the database and files, without the server: backup, restore, doctor',
    may: ['core/**', 'infra/**', 'modules/**', 'config.ts'],
  },
  {
    files: '{config,settings}.ts',
    is: 'the settings: their descriptions for `uk config`, and their parsing',
    may: ['core/**', 'settings.ts'],
  },
  {
    files: 'core/**',
    is: 'contracts, errors, IDs, money, scopes, paging; pure, without I/O',
    may: ['../packages/json-scan/src/json-text.ts', '../packages/fast-http/src/exchange.ts'],
  },
  {
    files: 'infra/**',
    is: 'state and external systems: PostgreSQL, ledger, blobs, bus, jobs, outbox, MCP client, document text, email, secrets, log',
    may: ['core/**', 'config.ts', '../packages/{fair-queue,http-client,json-scan,linear-grep,media-tools}/**'],
  },
  {
    files: 'authz/**',
    is: 'access control and its records: resources, lifecycle, shares, permissions, audit log',
    may: ['core/**', 'infra/**'],
  },
  {
    files: 'pipeline/**',
    is: 'the path of a call: `admit.ts` for every entry point, `rest/`, `agent/`',
    may: ['core/**', 'infra/**', 'authz/**', 'config.ts', '../packages/{fair-queue,fast-http}/**'],
  },
  {
    files: 'gateway/**',
    is: 'three client APIs, the lifecycle of metered calls, passthrough and translation, a file per provider, prices, simulated models; endpoints, catalog and caps come through its `Directory` interface',
    may: [
      'core/**',
      'infra/**',
      'config.ts',
      'pipeline/admit.ts',
      '../packages/{fair-queue,http-client,json-scan,media-tools}/**',
    ],
  },
  {
    files: 'modules/*.ts',
    is: 'lists of all contracts, services, event types and background work',
    may: ['modules/**', 'core/**', 'infra/**', 'authz/**'],
  },
  {
    files: 'modules/*/contract*.ts',
    is: "a module's contract: its requests and responses; the CLI and the app import it too",
    may: ['core/**', 'modules/*/contract.ts'],
    own: null,
  },
  {
    files: 'modules/computers/**',
    is: 'computers: rows, grants, and the server side of the daemon connection',
    may: [...AREA, 'daemon-protocol/**', '../packages/mux/**'],
  },
  {
    files: 'modules/{ai-gateway,chats,inference,media,models}/**',
    is: 'modules that call models',
    may: [...AREA, 'gateway/**'],
  },
  {
    files: 'modules/*/**',
    is: 'one kind of resource: `contract` · `service` · `store` · subfolders if it is large · its tests',
    may: AREA,
  },
  {
    files: 'daemon-protocol/**',
    is: 'messages between server and daemon: the table of operations, their shapes and refusals; pure',
    may: ['core/**', '../packages/mux/**'],
  },
  {
    files: 'daemon/**',
    is: 'the program on a connected computer: the connection, the keeper of terminals and commands, files, ports, users, engines',
    may: [
      'core/**',
      'daemon-protocol/**',
      'modules/contracts.ts',
      'modules/*/contract.ts',
      '../packages/{mux,terminal-screen}/**',
    ],
  },
  {
    files: 'interfaces/cli/commands/computer*.ts',
    is: '`uk computer`, which runs the daemon and connects to terminals',
    may: ['core/**', 'config.ts', 'daemon-protocol/**', 'daemon/**', 'modules/contracts.ts', 'modules/*/contract.ts'],
  },
  {
    files: 'interfaces/cli/routes/routes.ts',
    is: '`uk routes`, which also lists the routes of the client APIs',
    may: ['core/**', 'modules/contracts.ts', 'modules/*/contract.ts', 'gateway/surfaces/**'],
  },
  {
    files: 'interfaces/client-package/**',
    is: 'types, routes and build of the published client',
    may: ['core/**', 'modules/contracts.ts', '../packages/client/src/route.ts'],
  },
  {
    files: 'interfaces/**',
    is: 'interfaces generated from the registry: OpenAPI, client, CLI, MCP, docs; also serves the built app',
    may: ['core/**', 'config.ts', 'modules/contracts.ts', 'modules/*/contract.ts', '../packages/linear-grep/**'],
  },
  { files: '../packages/client/**', is: 'the published typed client', may: [] },
  {
    files: '../packages/fair-queue/**',
    is: 'turns that alternate between accounts: for work, reads, slices and sandboxed processes',
    may: [],
  },
  {
    files: '../packages/fast-http/**',
    is: 'ordinary HTTP requests read and answered without the HTTP server of Node, which takes all others',
    may: [],
  },
  {
    files: '../packages/http-client/**',
    is: 'HTTP requests to addresses that users provide: address checks, limits, reused connections',
    may: ['../packages/{fair-queue,json-scan}/**'],
  },
  {
    files: '../packages/json-scan/**',
    is: 'JSON checked and searched before it is parsed, with a scan in WebAssembly and its compiler',
    may: [],
  },
  {
    files: '../packages/linear-grep/**',
    is: 'regular expressions and globs in linear time, with a bound on work',
    may: [],
  },
  {
    files: '../packages/media-tools/**',
    is: 'facts about media files, audio conversion, local speech, simulated media',
    may: ['../packages/fair-queue/**'],
  },
  {
    files: '../packages/mux/**',
    is: 'streams with credit over one connection: frames, sockets, WebSockets, heartbeat, relay',
    may: [],
  },
  {
    files: '../packages/terminal-screen/**',
    is: 'the screen of a terminal from its bytes, and snapshots of it',
    may: [],
  },
  {
    files: '../web/src/{main.tsx,router/**}',
    is: 'the start of the app and its routes, which load every page',
    may: ['../web/src/**'],
  },
  {
    files: '../web/src/ui/**',
    is: 'components without data: fields, dialogs, notices, Markdown, code; React, built by Vite, served at `/app`',
    may: ['core/**', 'interfaces/client.ts'],
  },
  {
    files: '../web/src/shared/**',
    is: 'what the shell or several pages use and that knows data: the API client, the session, conversations, keys, uploads',
    may: APP,
  },
  {
    files: '../web/src/shell/**',
    is: 'the frame around the pages: navigation, command palette, shortcuts, connection state',
    may: APP,
  },
  {
    files: '../web/src/developer/**',
    is: 'the developer pages, which share their request examples with the docs',
    may: [...APP, 'interfaces/docs/{examples,browser}/**'],
  },
  {
    files: '../web/src/*/**',
    is: 'a page or a group of pages; pages never import each other',
    may: APP,
  },
]

const below = (path: string): string => (path.startsWith('src/') ? path.slice(4) : `../${path}`)
const rowOf = (path: string): Room | undefined => ROOMS.find(({ files }) => matchesGlob(below(path), files))

export const roomOf = (path: string): string => /^(web)\//.exec(path)?.[1] ?? path.split('/')[1]!
const homeOf = (path: string): string => /^(src\/modules|web\/src)\/[^/]+\//.exec(path)?.[0] ?? roomOf(path)
const isContract = (path: string): boolean => /^src\/modules\/[^/]+\/contract[^/]*\.ts$/.test(path)

export function isAllowed(from: string, to: string): boolean {
  const row = rowOf(from)
  if (row === undefined) return false
  if (homeOf(from) === homeOf(to) && (row.own !== null || isContract(to))) return true
  return row.may.some((glob) => matchesGlob(below(to), glob))
}

export function table(): string {
  const plain = (glob: string): string => glob.replaceAll('/**', '').replace('../', '')
  const rows = ROOMS.map(({ files, is, may }) => {
    const words =
      may.length === 0 ? 'nothing' : may.map((glob) => (glob === '**' ? 'everything' : `\`${plain(glob)}\``)).join(', ')
    return `| \`${plain(files)}\` | ${is} | ${words} |`
  })
  return `| files of \`src\` | contents | also import from |\n|---|---|---|\n${rows.join('\n')}\n`
}

/** A Mermaid diagram with an arrow per import between folders. */
export function diagram(edges: readonly (readonly [string, string])[]): string {
  const name = (room: string): string => room.replace('.ts', '')
  const arrows = new Set(
    edges.filter(([from, to]) => from !== to).map(([from, to]) => `  ${name(from)} --> ${name(to)}`),
  )
  return `\`\`\`mermaid\nflowchart LR\n${[...arrows].toSorted().join('\n')}\n\`\`\`\n`
}
