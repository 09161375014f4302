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
import { BlobMissing, type Blobs, HEAD_BYTES } from './blobs.ts'
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
  const base = prefix === '' ? '' : `${prefix}/`
  const keyOf = (place: string) => ({ Bucket: bucket, Key: base + place })

  const remove = async (place: string): Promise<void> => {
    const [key = '', UploadId] = place.split('#')
    if (UploadId === undefined) await client.send(new DeleteObjectCommand(keyOf(key))).catch(rethrow)
    else await client.send(new AbortMultipartUploadCommand({ ...keyOf(key), UploadId })).catch(rethrow)
  }

  return {
    pathOf: () => null,

    async stage(source, { signal, limit = Infinity } = {}) {
      const place = newId()
      const hash = createHash('sha256')
      const head: Buffer[] = []
      let size = 0
      let cause: unknown = null
      const body = async function* () {
        try {
          for await (const part of source) {
            signal?.throwIfAborted()
            hash.update(part)
            // Copies, so that a few bytes don't retain a large buffer.
            if (size < HEAD_BYTES) head.push(Buffer.from(part.subarray(0, HEAD_BYTES - size)))
            size += part.length
            if (size > limit) throw tooLarge(limit)
            // The client collects chunks, but the source reuses them.
            yield Buffer.from(part)
          }
        } catch (error) {
          cause = error
          throw error
        }
      }
      const upload = new Upload({
        client,
        params: { ...keyOf(place), Body: Readable.from(body(), { objectMode: false }) },
        partSize: PART_BYTES,
        queueSize: AT_ONCE,
      })
      await upload.done().catch(async (error: unknown) => {
        await upload.abort().catch(() => {})
        throw cause ?? failure(error)
      })
      const stay = async () => place
      return {
        sha256: hash.digest('hex'),
        size,
        head: Buffer.concat(head),
        keep: stay,
        park: stay,
        discard: () => remove(place),
      }
    },

    async *read(place, { start = 0, end = Infinity } = {}) {
      if (end <= start) return
      const whole = start === 0 && end === Infinity
      const Range = `bytes=${start}-${end === Infinity ? '' : end - 1}`
      const { Body } = await client
        .send(new GetObjectCommand({ ...keyOf(place), ...(!whole && { Range }) }))
        .catch((error: Error) => {
          if (error.name === 'NoSuchKey') throw new BlobMissing(place)
          // An empty range; always the case for an empty object.
          if (error.name === 'InvalidRange') return { Body: undefined }
          throw failure(error)
        })
      if (Body !== undefined) yield* Body as Readable as AsyncIterable<Uint8Array>
    },

    remove,

    async *list() {
      for (let after: string | undefined; ;) {
        const page = await client
          .send(new ListObjectsV2Command({ Bucket: bucket, Prefix: base, ContinuationToken: after }))
          .catch(rethrow)
        for (const { Key, LastModified } of page.Contents ?? [])
          if (Key !== undefined) yield { place: Key.slice(base.length), modifiedAt: LastModified ?? new Date() }
        after = page.NextContinuationToken
        if (after === undefined) break
      }
      const uploads = await client
        .send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: base }))
        .catch(rethrow)
      for (const { Key, UploadId, Initiated } of uploads.Uploads ?? [])
        if (Key !== undefined && UploadId !== undefined)
          yield { place: `${Key.slice(base.length)}#${UploadId}`, modifiedAt: Initiated ?? new Date() }
    },

    async [Symbol.asyncDispose]() {
      client.destroy()
    },
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
