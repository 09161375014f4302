// A loopback S3 that verifies signatures, as test/vendors/s3/s3.md describes it.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { crc32 } from 'node:zlib'

export interface S3Server extends AsyncDisposable {
  origin: string
  bucket: string
  accessKeyId: string
  secretAccessKey: string
  region: string
  objects: Map<string, { bytes: Buffer; at: Date }>
  uploads: Map<string, { key: string; parts: Map<number, Buffer>; at: Date }>
  /** The refused requests, and why. */
  refused: string[]
  /** The number of bodies with a separate, correct checksum. */
  summed(): number
  /** Makes the next requests fail. */
  fail(times: number, status: number): void
}

class RefusedRequest extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message = code) {
    super(message)
    this.status = status
    this.code = code
  }
}

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: string | Buffer, words: string): Buffer => createHmac('sha256', key).update(words).digest()
const tagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`

const crc = (bytes: Buffer): string => {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes))
  return sum.toString('base64')
}
/** Checksums of the body that a sender may give in addition to the signed hash. */
const sums: Record<string, (bytes: Buffer) => string> = {
  'content-md5': (bytes) => createHash('md5').update(bytes).digest('base64'),
  'x-amz-checksum-crc32': crc,
  'x-amz-checksum-sha1': (bytes) => createHash('sha1').update(bytes).digest('base64'),
  'x-amz-checksum-sha256': (bytes) => createHash('sha256').update(bytes).digest('base64'),
}

export interface SignedRequest {
  method: string
  /** As sent, with the query. */
  url: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  signedHeaders: readonly string[]
  payloadHash: string
  /** `yyyymmddThhmmssZ` */
  date: string
  region: string
  secret: string
}

/** Signature Version 4 for S3. */
export function signatureOf({
  method,
  url,
  headers,
  signedHeaders,
  payloadHash,
  date,
  region,
  secret,
}: SignedRequest): string {
  const [path = '/', query = ''] = url.split('?')
  const canonical = [
    method,
    path,
    query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
      .sort()
      .join('&'),
    ...signedHeaders.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}`),
    '',
    signedHeaders.join(';'),
    payloadHash,
  ].join('\n')
  const day = date.slice(0, 8)
  const scope = `${day}/${region}/s3/aws4_request`
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, day), region), 's3'), 'aws4_request')
  return hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')).toString('hex')
}

export async function startS3(bucket = 'ukiyo-test'): Promise<S3Server> {
  const server = new FakeS3(bucket)
  await server.listen()
  return server
}

class FakeS3 implements S3Server {
  readonly accessKeyId = 'AKTEST0123456789'
  readonly secretAccessKey = randomBytes(20).toString('hex')
  readonly region = 'eu-test-1'
  readonly objects: S3Server['objects'] = new Map()
  readonly uploads: S3Server['uploads'] = new Map()
  readonly refused: string[] = []
  readonly bucket: string
  readonly #server: Server
  #failing = { times: 0, status: 503 }
  #checkedSums = 0

  constructor(bucket: string) {
    this.bucket = bucket
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => this.#refuse(request, response, error))
    })
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  summed(): number {
    return this.#checkedSums
  }

  fail(times: number, status: number): void {
    this.#failing = { times, status }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { status, code, message } =
      error instanceof RefusedRequest ? error : new RefusedRequest(500, 'InternalError', String(error))
    this.refused.push(`${code} ${request.method} ${request.url}`)
    if (response.headersSent) return void response.destroy()
    response
      .writeHead(status, { 'content-type': 'application/xml' })
      .end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`)
  }

  #check(request: IncomingMessage, body: Buffer): void {
    const { headers } = request
    const words =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
        headers.authorization ?? '',
      )
    if (!words) throw new RefusedRequest(403, 'AccessDenied')
    const [, key, day, signedRegion, list, signature] = words
    if (key !== this.accessKeyId) throw new RefusedRequest(403, 'InvalidAccessKeyId')
    const date = String(headers['x-amz-date'])
    const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
    if (!(Math.abs(Date.now() - at) < 900_000)) throw new RefusedRequest(403, 'RequestTimeTooSkewed')
    const signedHeaders = list!.split(';')
    const must = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))]
    if (day !== date.slice(0, 8) || signedRegion !== this.region || must.some((name) => !signedHeaders.includes(name)))
      throw new RefusedRequest(403, 'AccessDenied')
    const payloadHash = String(headers['x-amz-content-sha256'])
    const expectedSignature = signatureOf({
      method: request.method!,
      url: request.url!,
      headers,
      signedHeaders,
      payloadHash,
      date,
      region: this.region,
      secret: this.secretAccessKey,
    })
    if (!timingSafeEqual(Buffer.from(expectedSignature), Buffer.from(signature!)))
      throw new RefusedRequest(403, 'SignatureDoesNotMatch')
    if (payloadHash !== sha256(body)) throw new RefusedRequest(400, 'XAmzContentSHA256Mismatch')
    const length = headers['content-length']
    if (request.method === 'PUT' && length === undefined) throw new RefusedRequest(411, 'MissingContentLength')
    for (const [name, sumOf] of Object.entries(sums))
      if (headers[name] !== undefined) {
        if (headers[name] !== sumOf(body)) throw new RefusedRequest(400, 'BadDigest')
        this.#checkedSums += 1
      }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts)
    if (this.#failing.times > 0) {
      this.#failing.times -= 1
      throw new RefusedRequest(this.#failing.status, 'SlowDown')
    }
    this.#check(request, body)
    const url = new URL(request.url!, 'http://s3')
    const [, bucketInPath, ...rest] = url.pathname.split('/').map(decodeURIComponent)
    if (bucketInPath !== this.bucket) throw new RefusedRequest(404, 'NoSuchBucket')
    const key = rest.join('/')
    const query = url.searchParams
    const xml = (text: string) =>
      void response.writeHead(200, { 'content-type': 'application/xml' }).end(`<?xml version="1.0"?>${text}`)
    if (key === '') return this.#bucketLevel(request.method!, query, response, xml)
    const uploadId = query.get('uploadId')
    if (request.method === 'POST' && query.has('uploads')) {
      const id = randomBytes(8).toString('hex')
      this.uploads.set(id, { key, parts: new Map(), at: new Date() })
      return xml(
        `<InitiateMultipartUploadResult><Bucket>${this.bucket}</Bucket><Key>${key}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      )
    }
    if (uploadId !== null) return this.#multipart(request.method!, uploadId, query, body, response, xml)
    if (request.method === 'PUT') {
      this.objects.set(key, { bytes: body, at: new Date() })
      return void response.writeHead(200, { etag: tagOf(body) }).end()
    }
    if (request.method === 'DELETE') {
      this.objects.delete(key)
      return void response.writeHead(204).end()
    }
    const object = this.objects.get(key)
    if (object === undefined) throw new RefusedRequest(404, 'NoSuchKey')
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '')
    const start = range ? Number(range[1]) : 0
    if (range && start >= object.bytes.length) throw new RefusedRequest(416, 'InvalidRange')
    const end = range?.[2] ? Math.min(Number(range[2]) + 1, object.bytes.length) : object.bytes.length
    const bytes = object.bytes.subarray(start, end)
    response.writeHead(range ? 206 : 200, {
      'content-length': bytes.length,
      'content-type': 'application/octet-stream',
      etag: tagOf(object.bytes),
      'last-modified': object.at.toUTCString(),
      ...(request.headers['x-amz-checksum-mode'] === 'ENABLED' && !range && { 'x-amz-checksum-crc32': crc(bytes) }),
      ...(range && { 'content-range': `bytes ${start}-${end - 1}/${object.bytes.length}` }),
    })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }

  #bucketLevel(method: string, query: URLSearchParams, response: ServerResponse, xml: (text: string) => void) {
    if (method === 'HEAD') return void response.writeHead(200).end()
    const prefix = query.get('prefix') ?? ''
    if (query.has('uploads')) {
      const rows = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix))
      return xml(
        `<ListMultipartUploadsResult>${rows.map(([id, { key, at }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${at.toISOString()}</Initiated></Upload>`).join('')}<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>`,
      )
    }
    const most = Number(query.get('max-keys') ?? 3)
    const after = query.get('continuation-token') ?? ''
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const page = keys.slice(0, most)
    const more = keys.length > most
    xml(
      `<ListBucketResult><IsTruncated>${more}</IsTruncated>${more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''}${page
        .map((key) => {
          const { at, bytes } = this.objects.get(key)!
          return `<Contents><Key>${key}</Key><LastModified>${at.toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`
        })
        .join('')}</ListBucketResult>`,
    )
  }

  #multipart(
    method: string,
    id: string,
    query: URLSearchParams,
    body: Buffer,
    response: ServerResponse,
    xml: (text: string) => void,
  ): void {
    const upload = this.uploads.get(id)
    if (upload === undefined) throw new RefusedRequest(404, 'NoSuchUpload')
    if (method === 'DELETE') {
      this.uploads.delete(id)
      return void response.writeHead(204).end()
    }
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body)
      return void response.writeHead(200, { etag: tagOf(body) }).end()
    }
    const parts = [...body.toString().matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part]) => ({
      number: Number(/<PartNumber>(\d+)</.exec(part!)![1]),
      tag: /<ETag>(.*?)</.exec(part!)![1]!.replaceAll('&quot;', '"'),
    }))
    const bytes = parts.map(({ number, tag }, i) => {
      const part = upload.parts.get(number)
      if (part === undefined || tagOf(part) !== tag) throw new RefusedRequest(400, 'InvalidPart')
      if (i < parts.length - 1 && part.length < 5 << 20) throw new RefusedRequest(400, 'EntityTooSmall')
      return part
    })
    this.objects.set(upload.key, { bytes: Buffer.concat(bytes), at: new Date() })
    this.uploads.delete(id)
    xml(`<CompleteMultipartUploadResult><Key>${upload.key}</Key><ETag>"whole"</ETag></CompleteMultipartUploadResult>`)
  }
}
