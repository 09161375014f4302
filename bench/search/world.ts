import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type pg from 'pg'
import { newId } from '../../src/core/ids.ts'
import { packed, signs } from '../../src/modules/search/index/vectors.ts'

/** The same at every run (mulberry32). */
export function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const syllables = 'ba ke li mo nu pra sto tri vex zan qui dor fel gan hul jit'.split(' ')
/** Words as in a language: few are everywhere, most are rare (Zipf). */
export function vocabulary(size: number): string[] {
  const next = random(1)
  return Array.from({ length: size }, () =>
    Array.from({ length: 2 + Math.floor(next() * 3) }, () => syllables[Math.floor(next() * syllables.length)]).join(''),
  )
}
export const pick = (words: readonly string[], next: () => number): string =>
  words[Math.floor(words.length ** next()) - 1] ?? words[0]!

export function text(words: readonly string[], bytes: number, next: () => number): string {
  let made = ''
  while (made.length < bytes) {
    let line = '  '.repeat(Math.floor(next() * 4))
    for (let i = 3 + Math.floor(next() * 9); i > 0; i--)
      line += `${pick(words, next)}${next() < 0.1 ? `_${Math.floor(next() * 1e4)}` : ''} `
    made += `${line.trimEnd()};\n`
  }
  return made
}

export interface Place {
  accountId: string
  workspaceId: string
}

/** Files on disk for ripgrep, and the same in the drive, as if they had been uploaded. */
export async function fillDrive(
  client: pg.Client,
  { accountId, workspaceId }: Place,
  {
    folder,
    blobs,
    files,
    bytes,
    below = '',
  }: { folder: string; blobs: string; files: number; bytes: number; below?: string },
): Promise<void> {
  const words = vocabulary(20_000)
  const next = random(2 + bytes)
  for (let from = 0; from < files; from += 500) {
    const rows = Array.from({ length: Math.min(500, files - from) }, (_, i) => {
      const n = from + i
      const path = `${below}d${n % 100}/e${Math.floor(n / 100) % 20}/f${n}.ts`
      const needle = n % (files / 8) === 7 ? 'the selective needle\n' : ''
      const content = Buffer.from(text(words, bytes * (0.2 + next() * 1.6), next) + needle)
      const sha256 = createHash('sha256').update(content).digest('hex')
      const place = join(sha256.slice(0, 2), sha256.slice(2, 4), sha256)
      for (const target of [join(folder, path), join(blobs, place)]) {
        mkdirSync(dirname(target), { recursive: true })
        writeFileSync(target, content)
      }
      return { id: newId(), path, name: `f${n}.ts`, sha256, size: content.length, place }
    })
    const column = (name: keyof (typeof rows)[number]) => rows.map((row) => row[name])
    await client.query('begin')
    await client.query(
      `insert into blobs (sha256, size_bytes, place) select * from unnest($1::text[], $2::int8[], $3::text[])`,
      [column('sha256'), column('size'), column('place')],
    )
    await client.query(
      `insert into resources (id, kind, workspace_id, created_by) select id, 'file', $2, $3 from unnest($1::text[]) x(id)`,
      [column('id'), workspaceId, accountId],
    )
    await client.query(
      `insert into files (id, workspace_id, kind, name, path, mime_type, size_bytes, sha256, content_version, content_updated_at)
       select id, $6, 'file', name, path, 'text/x-typescript', size, sha256, 1, now() from unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::text[]) x(id, name, path, size, sha256)`,
      [
        column('id'),
        column('path').map((path) => String(path).replaceAll('/', '-')),
        column('path'),
        column('size'),
        column('sha256'),
        workspaceId,
      ],
    )
    await client.query('commit')
  }
}

/** Further files for globs to look through, all of one content. */
export async function fillEntries(
  client: pg.Client,
  { accountId, workspaceId }: Place,
  entries: number,
): Promise<void> {
  const ids = Array.from({ length: entries }, () => newId())
  await client.query(
    `insert into resources (id, kind, workspace_id, created_by) select id, 'file', $2, $3 from unnest($1::text[]) x(id)`,
    [ids, workspaceId, accountId],
  )
  await client.query(
    `insert into files (id, workspace_id, kind, name, path, mime_type, size_bytes, sha256, content_version, content_updated_at)
     select x.id, $2, 'file', 'entry-' || n || '.ts', 'd' || n % 100 || '/e' || n / 100 % 20 || '/g' || n || '.ts',
       b.mime_type, b.size_bytes, b.sha256, 1, now()
     from unnest($1::text[]) with ordinality x(id, n), (select * from files where sha256 is not null order by id limit 1) b`,
    [ids, workspaceId],
  )
  await client.query('vacuum analyze files')
}

/** Rows of many workspaces, of which the caller sees half, with vectors in clusters as texts of a kind have them. */
export async function fillRows(
  client: pg.Client,
  mine: Place,
  { rows, dimensions, model }: { rows: number; dimensions: number; model: string },
): Promise<void> {
  const next = random(3)
  const words = vocabulary(20_000)
  const centres = Array.from({ length: 200 }, () => gaussian(dimensions, next))
  const others = Array.from({ length: 50 }, () => newId())
  await client.query(
    `insert into workspaces (id, name, kind) select id, 'Other', 'team' from unnest($1::text[]) x(id)`,
    [others],
  )
  for (let from = 0; from < rows; from += 500) {
    const some = Array.from({ length: Math.min(500, rows - from) }, () => {
      const centre = centres[Math.floor(next() * centres.length)]!
      const vector = unit(gaussian(dimensions, next).map((value, i) => value * 0.7 + centre[i]!))
      const workspace = next() < 0.5 ? mine.workspaceId : others[Math.floor(next() * others.length)]!
      return {
        id: newId(),
        workspace,
        title: `${pick(words, next)} ${pick(words, next)}`,
        body: text(words, 2_000, next),
        bits: signs(vector),
        vector: packed(vector).toString('base64'),
      }
    })
    const column = (name: keyof (typeof some)[number]) => some.map((row) => row[name])
    await client.query(
      `insert into resources (id, kind, workspace_id) select * from unnest($1::text[], array_fill('agent'::text, array[$3::int]), $2::text[])`,
      [column('id'), column('workspace'), some.length],
    )
    await client.query(
      `with made as (insert into search_rows (type, id, resource_id, workspace_id, hidden, title, tsv, words_version, embedded, created_at, updated_at)
         select 'agent', id, id, workspace, false, title, setweight(to_tsvector('english', title), 'A') || to_tsvector('english', body), 20, $7, now(), now()
         from unnest($1::ulid[], $2::text[], $3::text[], $4::text[]) x(id, workspace, title, body) returning row_id, id, workspace_id),
       bodies as (insert into search_bodies select m.row_id, x.body from made m join unnest($1::ulid[], $4::text[]) x(id, body) on x.id = m.id),
       signs as (insert into search_vectors (row_id, space, chunk, hidden, bits)
         select m.row_id, search_space($7, length(x.bits), 'agent', m.workspace_id), 0, false, x.bits::bit varying
         from made m join unnest($1::ulid[], $5::text[]) x(id, bits) on x.id = m.id)
       insert into search_passages (row_id, chunk, vector)
         select m.row_id, 0, decode(x.vector, 'base64') from made m join unnest($1::ulid[], $6::text[]) x(id, vector) on x.id = m.id`,
      [column('id'), column('workspace'), column('title'), column('body'), column('bits'), column('vector'), model],
    )
  }
  await client.query('analyze search_rows, search_vectors, resources')
}

/** A vector that a question may have: near one of the clusters. */
export function questionVector(dimensions: number, seed: number): Float32Array {
  const centres = centresOf(dimensions)
  const own = random(seed + 100)
  const centre = centres[Math.floor(own() * centres.length)]!
  return unit(gaussian(dimensions, own).map((value, i) => value * 0.7 + centre[i]!))
}

const known = new Map<number, number[][]>()
function centresOf(dimensions: number): number[][] {
  let centres = known.get(dimensions)
  if (centres === undefined) {
    const next = random(3)
    known.set(dimensions, (centres = Array.from({ length: 200 }, () => gaussian(dimensions, next))))
  }
  return centres
}

const gaussian = (size: number, next: () => number): number[] =>
  Array.from({ length: size }, () => Math.sqrt(-2 * Math.log(next() || 1e-9)) * Math.cos(2 * Math.PI * next()))
function unit(values: readonly number[]): Float32Array {
  const length = Math.hypot(...values)
  return Float32Array.from(values, (value) => value / length)
}
