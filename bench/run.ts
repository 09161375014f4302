/**
 * `npm run bench [name …]`: runs the benches side by side with their rivals, writes the raw rows to bench/results and
 * the tables into bench/README.md. `--tables` only writes the tables again from the committed rows. Of each kind of
 * machine the last rows are kept: ratios differ between them. `--quick` keeps and writes nothing: it tells who works on
 * the gateway or its streams in a minute or two where they stand.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { automations, table as automationsTable } from './automations/run.ts'
import { backup, table as backupTable } from './backup/run.ts'
import { chats, table as chatsTable } from './chats/run.ts'
import { cli, table as cliTable } from './cli/run.ts'
import { cloud, table as cloudTable } from './computers/cloud.ts'
import { keeper, table as keeperTable } from './computers/keeper.ts'
import { link, table as linkTable } from './computers/link.ts'
import { drive, table as driveTable } from './drive/run.ts'
import { fairness, table as fairnessTable } from './fairness/run.ts'
import { memory, table as memoryTable } from './gateway/memory.ts'
import { gateway, table as gatewayTable } from './gateway/run.ts'
import { streams, table as streamsTable } from './gateway/streams.ts'
import { root } from './measure/process.ts'
import { media, table as mediaTable } from './media/run.ts'
import { realtime, table as realtimeTable } from './realtime/run.ts'
import type { Report } from './report.ts'
import { rest, table as restTable } from './rest/run.ts'
import { search, table as searchTable } from './search/run.ts'
import { start, table as startTable } from './start/run.ts'

const benches: Record<string, { run: () => Promise<Report>; table: (rows: Record<string, unknown>[]) => string }> = {
  gateway: { run: gateway, table: gatewayTable },
  streams: { run: streams, table: streamsTable },
  memory: { run: memory, table: memoryTable },
  rest: { run: rest, table: restTable },
  drive: { run: drive, table: driveTable },
  backup: { run: backup, table: backupTable },
  start: { run: start, table: startTable },
  cli: { run: cli, table: cliTable },
  realtime: { run: realtime, table: realtimeTable },
  automations: { run: automations, table: automationsTable },
  search: { run: search, table: searchTable },
  chats: { run: chats, table: chatsTable },
  keeper: { run: keeper, table: keeperTable },
  link: { run: link, table: linkTable },
  cloud: { run: cloud, table: cloudTable },
  media: { run: media, table: mediaTable },
  fairness: { run: fairness, table: fairnessTable },
}

interface Kept {
  date: string
  node: string
  machine: string
  rows: Record<string, unknown>[]
}

const args = process.argv.slice(2)
const names = args.filter((arg) => !arg.startsWith('--'))
const unknown = names.find((name) => !(name in benches))
if (unknown) throw new Error(`no bench is called ${unknown}: ${Object.keys(benches).join(', ')}`)
if (!existsSync(join(root, 'bench/node_modules')))
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: join(root, 'bench'), stdio: 'inherit' })

const results = join(root, 'bench/results')
const pathOf = (name: string, machine: string): string =>
  join(
    results,
    `${name}.${machine
      .toLowerCase()
      .match(/[a-z0-9]+/g)!
      .join('-')}.json`,
  )
/** A row a line, so that a change of the figures reads as one. */
const printed = ({ rows, ...about }: Kept): string =>
  `${JSON.stringify(about, null, 1).slice(0, -2)},\n "rows": [\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n ]\n}\n`
/** The newest first. */
const keptOf = (name: string): Kept[] =>
  globSync(`${name}.*.json`, { cwd: results })
    .toSorted()
    .map((file) => JSON.parse(readFileSync(join(results, file), 'utf8')) as Kept)
    .toSorted((a, b) => b.date.localeCompare(a.date))
if (args.includes('--quick')) {
  for (const run of [gateway, streams])
    if (names.length === 0 || names.includes(run.name)) process.stdout.write(`\n${(await run(true)).table}\n`)
  process.exit()
}
if (!args.includes('--tables'))
  for (const name of names.length > 0 ? names : Object.keys(benches)) {
    process.stdout.write(`${name} …\n`)
    const { rows } = await benches[name]!.run()
    const kept: Kept = {
      date: new Date().toISOString().slice(0, 10),
      node: process.version,
      machine: `${cpus().length} × ${cpus()[0]!.model}`,
      rows,
    }
    writeFileSync(pathOf(name, kept.machine), printed(kept))
  }

const readme = join(root, 'bench/README.md')
let text = readFileSync(readme, 'utf8')
for (const [name, { table }] of Object.entries(benches)) {
  const made = keptOf(name)
    .map(({ date, node, machine, rows }) => `${table(rows)}\n\nMeasured ${date}, Node ${node}, ${machine}.\n`)
    .join('\n')
  if (made === '') continue
  text = text.replace(
    new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- /${name} -->)`),
    (_, a: string, b: string) => a + made + b,
  )
  process.stdout.write(`\n# ${name}\n${made}`)
}
writeFileSync(readme, text)
