import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { newId } from '#core/ids.ts'
import { StartRefused } from '../start-refused.ts'
import { BlobMissing, type Blobs, HEAD_BYTES, type Range, type StageMore, type StagedBlob } from './blobs.ts'
import { tooLarge } from './too-large.ts'

/** Four parts in flight are held in memory per upload. S3 allows up to 10,000 parts. */
const PART_BYTES = 16 << 20
const AT_ONCE = 4

export interface S3Options {
  bucket: string
  prefix: string
  endpoint: string | null
  /** `AWS_*` variables as in AWS tools. Missing ones fall back to AWS's defaults. */
  environment: Readonly<Record<string, string | undefined>>
}

/**
 * A bucket. Objects can't be renamed and their hash is known only after the upload, so each upload has a unique key
 * recorded in the hash's row. The sweep deletes unreferenced objects and unfinished multipart uploads.
 */
export async function s3Blobs({ bucket, prefix, endpoint, environment }: S3Options): Promise<Blobs> {
  const client = new S3Client(clientConfig(endpoint, environment))
  await client.send(new HeadBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
    throw new StartRefused(`UK_BLOBS: the bucket ${bucket} can’t be used: ${wordsOf(error)}`)
  })
  return new S3Blobs(client, bucket, prefix === '' ? '' : `${prefix}/`)
}

class S3Blobs implements Blobs {
  readonly #client: S3Client
  readonly #bucket: string
  /** The prefix of all keys, with its slash. */
  readonly #base: string

  constructor(client: S3Client, bucket: string, base: string) {
    this.#client = client
    this.#bucket = bucket
    this.#base = base
  }

  pathOf(): null {
    return null
  }

  async stage(source: AsyncIterable<Uint8Array>, { signal, limit = Infinity }: StageMore = {}): Promise<StagedBlob> {
    const place = newId()
    const body = new HashedBody(source, limit, signal)
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#keyOf(place), Body: Readable.from(body.bytes(), { objectMode: false }) },
      partSize: PART_BYTES,
      queueSize: AT_ONCE,
    })
    await upload.done().catch(async (error: unknown) => {
      await upload.abort().catch(() => {})
      throw body.cause ?? failure(error)
    })
    const stay = async () => place
    return {
      sha256: body.hash.digest('hex'),
      size: body.size,
      head: Buffer.concat(body.head),
      keep: stay,
      park: stay,
      discard: () => this.remove(place),
    }
  }

  async *read(place: string, { start = 0, end = Infinity }: Range = {}): AsyncGenerator<Uint8Array> {
    if (end <= start) return
    const whole = start === 0 && end === Infinity
    const header = `bytes=${start}-${end === Infinity ? '' : end - 1}`
    const { Body } = await this.#client
      .send(new GetObjectCommand({ ...this.#keyOf(place), ...(!whole && { Range: header }) }))
      .catch((error: Error) => {
        if (error.name === 'NoSuchKey') throw new BlobMissing(place)
        // An empty range; always the case for an empty object.
        if (error.name === 'InvalidRange') return { Body: undefined }
        throw failure(error)
      })
    if (Body !== undefined) yield* Body as Readable as AsyncIterable<Uint8Array>
  }

  async remove(place: string): Promise<void> {
    const [key = '', UploadId] = place.split('#')
    const object = this.#keyOf(key)
    if (UploadId === undefined) await this.#client.send(new DeleteObjectCommand(object)).catch(rethrow)
    else await this.#client.send(new AbortMultipartUploadCommand({ ...object, UploadId })).catch(rethrow)
  }

  async *list(): AsyncGenerator<{ place: string; modifiedAt: Date }> {
    const scope = { Bucket: this.#bucket, Prefix: this.#base }
    for (let after: string | undefined; ;) {
      const page = await this.#client
        .send(new ListObjectsV2Command({ ...scope, ContinuationToken: after }))
        .catch(rethrow)
      for (const { Key, LastModified } of page.Contents ?? [])
        if (Key !== undefined) yield { place: Key.slice(this.#base.length), modifiedAt: LastModified ?? new Date() }
      after = page.NextContinuationToken
      if (after === undefined) break
    }
    const uploads = await this.#client.send(new ListMultipartUploadsCommand(scope)).catch(rethrow)
    for (const { Key, UploadId, Initiated } of uploads.Uploads ?? [])
      if (Key !== undefined && UploadId !== undefined)
        yield { place: `${Key.slice(this.#base.length)}#${UploadId}`, modifiedAt: Initiated ?? new Date() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.destroy()
  }

  #keyOf(place: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#base + place }
  }
}

/** The bytes of an upload, with the hash, size, and first bytes of what has passed. */
class HashedBody {
  readonly hash = createHash('sha256')
  readonly head: Buffer[] = []
  size = 0
  /** The error of the source, which the S3 client wraps. */
  cause: unknown = null
  readonly #source: AsyncIterable<Uint8Array>
  readonly #limit: number
  readonly #signal: AbortSignal | undefined

  constructor(source: AsyncIterable<Uint8Array>, limit: number, signal: AbortSignal | undefined) {
    this.#source = source
    this.#limit = limit
    this.#signal = signal
  }

  async *bytes(): AsyncGenerator<Buffer> {
    try {
      for await (const part of this.#source) {
        this.#signal?.throwIfAborted()
        this.hash.update(part)
        // Copies, so that a few bytes don't retain a large buffer.
        if (this.size < HEAD_BYTES) this.head.push(Buffer.from(part.subarray(0, HEAD_BYTES - this.size)))
        this.size += part.length
        if (this.size > this.#limit) throw tooLarge(this.#limit)
        // The client collects chunks, but the source reuses them.
        yield Buffer.from(part)
      }
    } catch (error) {
      this.cause = error
      throw error
    }
  }
}

function clientConfig(endpoint: string | null, environment: S3Options['environment']): S3ClientConfig {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = environment
  return {
    region: environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION ?? 'us-east-1',
    ...(accessKeyId &&
      secretAccessKey && { credentials: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) } }),
    // Other services have no hostname per bucket and rarely support AWS's newer checksums.
    ...(endpoint !== null && {
      endpoint,
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED' as const,
      responseChecksumValidation: 'WHEN_REQUIRED' as const,
    }),
  }
}

const wordsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.name === 'Error' || error.message.includes(error.name) ? error.message : `${error.name} ${error.message}`
}

/** Wraps the error, whose `code` could be mistaken for a database error. */
const failure = (error: unknown): Error =>
  new Error(`the file store cannot be used: ${wordsOf(error)}`, { cause: error })
const rethrow = (error: unknown): never => {
  throw failure(error)
}
