import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createZstdCompress, zstdCompressSync, zstdDecompress } from 'node:zlib'
import { sql } from 'kysely'
import { nextPiece } from '#packages/fair-queue/slices.ts'
import type { Engine } from '#infra/context.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { SealedColumns } from '#infra/reseal.ts'
import type { CanonicalRequest } from '#gateway/model/canonical-request.ts'
import { type Id, newId } from '#core/ids.ts'
import { jsonPieces } from '#core/json/json-pieces.ts'
import type { Part } from '../messages/parts.ts'

/**
 * A complete request to a model and its answer, enough to replay the run offline. The step's result has provider, seed,
 * usage and errors.
 */
export interface ModelRequest {
  request: CanonicalRequest
  answer: readonly Part[]
  finish_reason: string | null
}

/** Sealed with `id` as associated data. */
export interface SealedRequest {
  id: Id
  sealed: string
}

/** Maximum stored size. Larger requests carry files, which are stored separately. */
const LARGEST = 16 << 20
/** Up to this size, compressing here costs less than a worker thread and its memory. */
const AT_ONCE = 32_768

const decompress = promisify(zstdDecompress)

/** With the length pledged, zstd allocates that much instead of 0.8 MB for an unbounded stream. */
async function compressed(pieces: readonly Buffer[], length: number): Promise<Buffer> {
  const options = { pledgedSrcSize: length }
  if (length <= AT_ONCE) return zstdCompressSync(Buffer.concat(pieces), options)
  const parts: Buffer[] = []
  for await (const part of Readable.from(pieces).pipe(createZstdCompress(options))) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** Writes JSON in pieces, so that a large request doesn't block the event loop. Null above `LARGEST` bytes. */
async function piecesOf(
  modelRequest: ModelRequest,
  accountId: Id,
): Promise<{ pieces: Buffer[]; length: number } | null> {
  const pieces: Buffer[] = []
  let length = 0
  for (const text of jsonPieces(modelRequest)) {
    if (length > 0) await nextPiece(accountId)
    const piece = Buffer.from(text)
    length += piece.length
    if (length > LARGEST) return null
    pieces.push(piece)
  }
  return { pieces, length }
}

export async function sealRequest(
  { config, secrets }: Pick<Engine, 'config' | 'secrets'>,
  asked: ModelRequest,
  accountId: Id,
): Promise<SealedRequest | null> {
  if (config.requestRetentionDays === 0) return null
  const json = await piecesOf(asked, accountId)
  if (json === null) return null
  const id = newId()
  const bytes = await compressed(json.pieces, json.length)
  return { id, sealed: secrets.seal(bytes.toString('base64'), id) }
}

export async function requestsOf(
  { postgres: { db }, secrets }: Pick<Engine, 'postgres' | 'secrets'>,
  runId: Id,
  attempt: number,
): Promise<(ModelRequest & { index: number })[]> {
  const { rows } = await sql<SealedRequest & { index: number }>`select m.id, m.sealed, m.index from model_requests m
    join steps s on s.run_id = m.run_id and s.index = m.index
    where m.run_id = ${runId} and s.attempt = ${attempt} order by m.index`.execute(db)
  return Promise.all(
    rows.map(async ({ id, sealed, index }) => {
      const bytes = await decompress(Buffer.from(secrets.open(sealed, id), 'base64'))
      return { index, ...(JSON.parse(bytes.toString()) as ModelRequest) }
    }),
  )
}

/**
 * Deletes requests older than `days`. With 0, deletes all without comparing times: `created_at` is rounded to a
 * millisecond and may be in the future.
 */
export async function retainRequests(db: Db, days: number): Promise<void> {
  const old = days === 0 ? sql`true` : sql`created_at <= now() - make_interval(days => ${days})`
  await sql`delete from model_requests where ${old}`.execute(db)
}

export const requestSchedules = ({ postgres: { db }, config }: Engine): Schedule[] => [
  every('model_requests.retain', 3600, () => retainRequests(db, config.requestRetentionDays)),
]

export const requestSecrets: readonly SealedColumns[] = [{ table: 'model_requests', columns: ['sealed'] }]
