/**
 * Grep and glob of the drive beside `rg --no-ignore` on the same files with as many threads, and `/search` over rows of
 * mixed rights: by words, and by words and meaning with the question's vector given. Sizes by `UKIYO_BENCH_SCALE` (1).
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startTestPostgres } from '../../test/database.ts'
import { startOurs } from '../measure/ours.ts'
import type { Report } from '../report.ts'
import { fillDrive, fillEntries, fillRows, pick, questionVector, random, vocabulary } from './world.ts'

const SCALE = Number(process.env.UKIYO_BENCH_SCALE ?? 1)
const FILES = 20_000 * SCALE
const FILE_BYTES = 10_000
const SMALL_BYTES = 2_000
const ENTRIES = 100_000 * SCALE
const ROWS = 200_000 * SCALE
const DIMENSIONS = 384
const MODEL = 'openai/bench-embedding'
const ROUNDS = 9
const QUESTIONS = 100
const EMBEDDED = 'select not exists (select from search_rows where embedded is null) as done'

const greps: { name: string; pattern: string; selective: boolean }[] = [
  { name: 'selective literal', pattern: 'selective needle', selective: true },
  { name: 'broad literal', pattern: 'baba', selective: false },
  { name: 'broad classes', pattern: '[a-z]+_[0-9]{4}', selective: false },
  { name: 'broad, two words', pattern: String.raw`\bke\w+ \w+za\w* `, selective: false },
]

export async function search(): Promise<Report> {
  const rows: Record<string, unknown>[] = []
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-bench-rg-'))
  const postgres = await startTestPostgres()
  const connection = { ...postgres.connection, database: 'ukiyo_template' }
  const { user, password, host, port, database } = connection
  const embedder = await startEmbedder()
  const environment = {
    DATABASE_URL: `postgres://${user}:${password as string}@localhost:${port}/${database}?host=${encodeURIComponent(host!)}`,
    OPENAI_API_KEY: 'sk-bench',
    OPENAI_BASE_URL: `${embedder.origin}/v1`,
    UK_EMBEDDING_MODEL: MODEL,
    UK_LIMIT_SEARCHES: '1000000000',
  }
  const client = new pg.Client(connection)
  await client.connect()
  try {
    await using ours = await startOurs(environment)
    const { rows: accounts } = await client.query<{ id: string; personal_workspace_id: string }>(
      'select id, personal_workspace_id from accounts',
    )
    const place = { accountId: accounts[0]!.id, workspaceId: accounts[0]!.personal_workspace_id }
    const index = async (bytes: number, below: string): Promise<void> => {
      process.stdout.write(`  files of ${bytes} bytes …\n`)
      const { rows: last } = await client.query<{ id: string | null }>('select max(id) as id from files')
      await fillDrive(client, place, { folder, blobs: join(ours.dataDir, 'blobs'), files: FILES, bytes, below })
      await client.query('vacuum analyze contents, files, blobs, resources')
      process.stdout.write('  index …\n')
      const begun = performance.now()
      await client.query(`select graphile_worker.add_job('search.reindex', $1)`, [
        JSON.stringify({ kind: 'file', after: last[0]!.id }),
      ])
      await until(
        client,
        `select count(*) = ${FILES} as done from search_rows where type = 'file' and id > '${last[0]!.id ?? ''}'`,
      )
      const seconds = (performance.now() - begun) / 1000
      process.stdout.write('  their vectors …\n')
      // What is measured next has the machine for itself.
      await until(client, EMBEDDED)
      rows.push({ what: 'index', documents: FILES, bytes, seconds, embedded: (performance.now() - begun) / 1000 })
      await client.query('vacuum analyze contents, files, blobs')
    }
    await index(FILE_BYTES, '')

    process.stdout.write('  grep …\n')
    const key = { authorization: `Bearer ${ours.key}` }
    const ask = async (path: string): Promise<{ ms: number; body: any }> => {
      const at = performance.now()
      const response = await fetch(`http://127.0.0.1:${ours.server.port}/v1${path}`, { headers: key })
      const body = await response.json()
      if (!response.ok) throw new Error(JSON.stringify(body))
      return { ms: performance.now() - at, body }
    }
    for (const { name, pattern, selective } of greps)
      for (let round = 0; round < ROUNDS; round++) {
        const at = performance.now()
        const found = ripgrep(folder, pattern)
        const rgMs = performance.now() - at
        const query = new URLSearchParams({
          pattern,
          mode: 'count',
          limit: '100',
          ...(!selective && { totals: 'true' }),
        })
        const { ms, body } = await ask(`/drive/grep?${query.toString()}`)
        const files = selective ? body.data.length : body.totals.files
        if (files !== found) throw new Error(`${pattern}: ${files} files here, ${found} by ripgrep`)
        rows.push({ what: 'grep', name, round, files, ours_ms: ms, rg_ms: rgMs })
      }
    await index(SMALL_BYTES, 'small/')
    process.stdout.write('  glob …\n')
    await fillEntries(client, place, ENTRIES - 2 * FILES)
    for (const pattern of ['**/*7.ts', 'd1?/e3/*', '*nothing*', '**/*[0-9]5?.{ts,md}'])
      for (let round = 0; round < ROUNDS; round++) {
        const { ms, body } = await ask(`/drive/glob?limit=100&pattern=${encodeURIComponent(pattern)}`)
        rows.push({ what: 'glob', name: pattern, entries: ENTRIES, round, found: body.data.length, ours_ms: ms })
      }

    process.stdout.write('  rows …\n')
    await until(client, EMBEDDED)
    await fillRows(client, place, { rows: ROWS, dimensions: DIMENSIONS, model: MODEL })
    await client.query('vacuum analyze search_rows, search_bodies, search_vectors')
    rows.push(...(await searchRounds(client, place.workspaceId, embedder, ask)))
  } finally {
    await client.end()
    await postgres.stop()
    embedder.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { name: 'search', rows, table: table(rows) }
}

async function searchRounds(
  client: pg.Client,
  workspaceId: string,
  embedder: Awaited<ReturnType<typeof startEmbedder>>,
  ask: (path: string) => Promise<{ ms: number; body: any }>,
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = []
  process.stdout.write('  search …\n')
  const words = vocabulary(20_000)
  const next = random(9)
  for (const mode of ['keyword', 'hybrid', 'semantic'])
    for (let i = -5; i < QUESTIONS; i++) {
      embedder.seed = i
      const q = `${pick(words, next)} ${pick(words, next)}`
      const { ms, body } = await ask(`/search?types=agent&limit=20&mode=${mode}&q=${encodeURIComponent(q)}`)
      if (i < 0) continue
      const recall = mode === 'semantic' && i < 20 ? await recallOf(client, workspaceId, i, body.data) : null
      rows.push({ what: 'search', mode, rows: ROWS, round: i, ms, found: body.data.length, recall })
    }
  return rows
}

function ripgrep(folder: string, pattern: string): number {
  try {
    return execFileSync(
      'rg',
      ['--no-ignore', '--no-config', '-j', String(availableParallelism()), '-c', '-e', pattern, '.'],
      { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 28 },
    )
      .trim()
      .split('\n').length
  } catch {
    return 0
  }
}

/** The number of the 20 that are truly nearest which were found. */
async function recallOf(
  client: pg.Client,
  workspaceId: string,
  seed: number,
  found: { id: string }[],
): Promise<number> {
  const question = questionVector(DIMENSIONS, seed)
  const best: { id: string; score: number }[] = []
  for (let after = '0'; ;) {
    const { rows } = await client.query<{ row_id: string; id: string; vector: Buffer }>(
      `select s.row_id, s.id, p.vector from search_rows s join search_passages p using (row_id) where s.workspace_id = $1 and s.type = 'agent' and s.row_id > $2 order by s.row_id limit 20000`,
      [workspaceId, after],
    )
    if (rows.length === 0) break
    after = rows.at(-1)!.row_id
    for (const { id, vector } of rows) {
      const view = new DataView(vector.buffer, vector.byteOffset, vector.byteLength)
      best.push({ id, score: question.reduce((sum, value, i) => sum + value * view.getFloat32(i * 4), 0) })
    }
    best.sort((a, b) => b.score - a.score).splice(20)
  }
  return best.filter(({ id }) => found.some((one) => one.id === id)).length / best.length
}

async function until(client: pg.Client, question: string): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ done: boolean }>(question)
    if (rows[0]!.done) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** A text is a question up to here; what is longer is a passage of a file. */
const QUESTION_LENGTH = 60

/** A vendor whose vectors cost it nothing: every passage has one of a thousand, a question that of `seed`. */
async function startEmbedder() {
  const passages = Array.from({ length: 1_000 }, (_, i) => [...questionVector(DIMENSIONS, 1_000 + i)])
  let passage = 0
  const state = { seed: 0, origin: '', close: () => {} }
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      response.setHeader('content-type', 'application/json')
      if (request.url === '/v1/models')
        return response.end(JSON.stringify({ object: 'list', data: [{ id: 'bench-embedding' }] }))
      const { input } = JSON.parse(Buffer.concat(pieces).toString()) as { input: string | string[] }
      const data = [input].flat().map((text, index) => ({
        index,
        embedding:
          text.length > QUESTION_LENGTH
            ? passages[passage++ % passages.length]
            : [...questionVector(DIMENSIONS, state.seed)],
      }))
      response.end(JSON.stringify({ data, usage: { prompt_tokens: 2 } }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  state.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  state.close = () => void server.close()
  return state
}

const sorted = (values: number[]): number[] => values.toSorted((a, b) => a - b)
const middle = (values: number[]): number => sorted(values)[Math.floor(values.length / 2)]!
const p95 = (values: number[]): number => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * 0.95))]!

export function table(rows: Record<string, unknown>[]): string {
  const of = (what: string): any[] => rows.filter((row) => row.what === what)
  const index = of('index').map(
    ({ documents, bytes, seconds, embedded }) =>
      `${documents} files of ${bytes / 1000} KB indexed in ${seconds.toFixed(1)} s: ${Math.round(documents / seconds)} a second${embedded === undefined ? '' : `, while their vectors are made, which takes ${embedded.toFixed(1)} s`}.`,
  )
  const grep = [...Map.groupBy(of('grep'), ({ name }) => name)].map(([name, all]) => {
    const [ours, rg] = [middle(all.map((row) => row.ours_ms)), middle(all.map((row) => row.rg_ms))]
    return `| ${name} | ${all[0].files} | ${ours.toFixed(0)} | ${rg.toFixed(0)} | ${(ours / rg).toFixed(2)} |`
  })
  const glob = [...Map.groupBy(of('glob'), ({ name }) => name)].map(
    ([name, all]) => `| \`${name}\` | ${all[0].entries} | ${middle(all.map((row) => row.ours_ms)).toFixed(0)} |`,
  )
  const found = [...Map.groupBy(of('search'), ({ mode }) => mode)].map(([mode, all]) => {
    const recalls = all.filter(({ recall }) => recall !== null).map(({ recall }) => recall)
    const recall =
      recalls.length === 0 ? '' : (recalls.reduce((a: number, b: number) => a + b, 0) / recalls.length).toFixed(3)
    return `| ${mode} | ${all[0].rows} | ${middle(all.map((row) => row.ms)).toFixed(0)} | ${p95(all.map((row) => row.ms)).toFixed(0)} | ${recall} |`
  })
  return [
    ...index,
    '',
    '| grep, mode count | files that match | ours ms | rg ms | ours / rg |',
    '|---|---|---|---|---|',
    ...grep,
    '',
    '| glob | entries | ms |',
    '|---|---|---|',
    ...glob,
    '',
    '| search | rows | p50 ms | p95 ms | recall of the top 20 |',
    '|---|---|---|---|---|',
    ...found,
  ].join('\n')
}
