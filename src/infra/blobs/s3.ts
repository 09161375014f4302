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

/** Parts in flight are held in memory: four of these per upload. 10,000 parts are the most that S3 takes. */
const PART_BYTES = 16 << 20
const AT_ONCE = 4

export interface S3Options {
  bucket: string
  /** The prefix of every key, without slashes around it; may be empty. */
  prefix: string
  /** An S3-compatible service other than the vendor's. */
  endpoint: string | null
  /** `AWS_*` as the vendor's programs read them; what is not there is found as they do. */
  environment: Readonly<Record<string, string | undefined>>
}

/**
 * A bucket. An object cannot be renamed, and its hash is known only once it is there: so each upload has a key of its
 * own, and the row of the hash says which. What no row names goes with the sweep, unfinished multipart uploads too.
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
            // A copy, so that a few bytes do not hold on to many.
            if (size < HEAD_BYTES) head.push(Buffer.from(part.subarray(0, HEAD_BYTES - size)))
            size += part.length
            if (size > limit) throw tooLarge(limit)
            // The client collects them; the source only lends them.
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
          // Nothing lies in that range: of an empty object nothing ever does.
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
    // Services beside the vendor's have no host name per bucket, and seldom know its newer checksums.
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

/** A new error in place of the original, whose code would be taken for one of the database. */
const failure = (error: unknown): Error =>
  new Error(`the file store cannot be used: ${wordsOf(error)}`, { cause: error })
const rethrow = (error: unknown): never => {
  throw failure(error)
}
