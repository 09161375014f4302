// Verifies AWS Signature Version 4 of a request (docs.aws.amazon.com/IAM, "Create a signed AWS API request"), from the
// documented algorithm, not from a signing library.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { RecordedRequest } from './vendor.ts'

export type Account = {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
  region: string
}

export type Refusal = { status: number; type: string; message: string }

const refuse = (type: string, message: string): Refusal => ({ status: 403, type, message })

export function verifySignature(request: RecordedRequest, account: Account, service: string): Refusal | undefined {
  const authorization = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
    request.headers.authorization ?? '',
  )
  if (!request.headers.authorization)
    return refuse('MissingAuthenticationTokenException', 'Missing Authentication Token')
  if (!authorization)
    return refuse(
      'IncompleteSignatureException',
      'Authorization header requires Credential, SignedHeaders and Signature.',
    )
  const [, credential = '', names = '', signature = ''] = authorization
  const [accessKeyId, date, region, named, terminator] = credential.split('/')
  if (accessKeyId !== account.accessKeyId)
    return refuse('UnrecognizedClientException', 'The security token included in the request is invalid.')
  if (account.sessionToken !== undefined && request.headers['x-amz-security-token'] !== account.sessionToken)
    return refuse('UnrecognizedClientException', 'The security token included in the request is invalid.')
  if (region !== account.region || named !== service || terminator !== 'aws4_request')
    return refuse('InvalidSignatureException', `Credential should be scoped to a valid region and to ${service}.`)
  const time = String(request.headers['x-amz-date'] ?? '')
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(at - Date.now()) <= 5 * 60_000) || date !== time.slice(0, 8))
    return refuse('InvalidSignatureException', `Signature expired or not yet current: ${time}`)
  const signedHeaders = names.split(';')
  if (
    !signedHeaders.includes('host') ||
    !signedHeaders.includes('x-amz-date') ||
    signedHeaders.join() !== signedHeaders.toSorted().join()
  )
    return refuse('InvalidSignatureException', "'Host' and 'X-Amz-Date' must be signed headers, in order.")

  const canonical = canonicalRequest(request, signedHeaders, names)
  const scope = [date, region, service, 'aws4_request'].join('/')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const key = [date, region, service, 'aws4_request'].reduce<Buffer>(
    (secret, part) => hmac(secret, part),
    Buffer.from(`AWS4${account.secretAccessKey}`),
  )
  const right = hmac(key, toSign)
  if (timingSafeEqual(right, Buffer.from(signature, 'hex'))) return undefined
  return refuse(
    'InvalidSignatureException',
    'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.',
  )
}

/** Every service but S3 encodes the path segments once more. */
function canonicalRequest(
  { method, path, query, headers, body }: RecordedRequest,
  signedHeaders: string[],
  names: string,
) {
  const search = [...query]
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? Number(x > y) - Number(x < y) : Number(a > b) - Number(a < b)))
    .map((pair) => pair.join('='))
    .join('&')
  const lines = signedHeaders.map((name) => `${name}:${[headers[name]].flat().join(',').trim().replace(/\s+/g, ' ')}\n`)
  const payload = headers['x-amz-content-sha256'] ?? sha256(body)
  const uri = path.split('/').map(encode).join('/')
  return [method, uri, search, lines.join(''), names, payload].join('\n')
}

function encode(text: string): string {
  const plain = encodeURIComponent(text)
  return plain.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

function hmac(key: Buffer, data: string): Buffer {
  return createHmac('sha256', key).update(data).digest()
}
