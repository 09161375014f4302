import assert from 'node:assert/strict'
import { createDecipheriv, createECDH, createPublicKey, createVerify, hkdfSync, randomBytes } from 'node:crypto'
import { type IncomingMessage, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A browser and its push service on the loopback: it verifies who pushes (RFC 8292) and decrypts what (RFC 8291). */
export interface PushService extends AsyncDisposable {
  origin: string
  /** The subscription as `PushSubscription.toJSON()` gives it. */
  subscription: { endpoint: string; keys: { p256dh: string; auth: string } }
  /** The next push that this browser gets. */
  next(): Promise<{ payload: Record<string, unknown>; headers: IncomingMessage['headers'] }>
  /** Sets the status that it answers from now on. */
  answerWith(status: number): void
  asked(): number
}

export async function pushService(vapidPublicKey: () => string): Promise<PushService> {
  const browser = createECDH('prime256v1')
  browser.generateKeys()
  const auth = randomBytes(16)
  let status = 201
  let asked = 0
  const unread: { payload: Record<string, unknown>; headers: IncomingMessage['headers'] }[] = []
  const waiting: ((push: (typeof unread)[number]) => void)[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      asked += 1
      try {
        if (status === 201) {
          verifyVapid(request.headers.authorization!, vapidPublicKey(), origin)
          assert.equal(request.headers['content-encoding'], 'aes128gcm')
          const payload = JSON.parse(
            decrypt(Buffer.concat(pieces), browser.getPrivateKey(), browser.getPublicKey(), auth),
          )
          const push = { payload, headers: request.headers }
          const take = waiting.shift()
          if (take) take(push)
          else unread.push(push)
        }
        response.writeHead(status).end()
      } catch (error) {
        response.writeHead(400).end(String(error))
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    subscription: {
      endpoint: `${origin}/send/${randomBytes(8).toString('hex')}`,
      keys: { p256dh: browser.getPublicKey('base64url'), auth: auth.toString('base64url') },
    },
    next: () =>
      new Promise((resolve) => {
        const push = unread.shift()
        if (push === undefined) waiting.push(resolve)
        else resolve(push)
      }),
    answerWith: (next) => (status = next),
    asked: () => asked,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** `vapid t=<JWT>, k=<public key>`: signed by that key, for this service, not for longer than a day. */
function verifyVapid(header: string, publicKey: string, origin: string): void {
  const [, token, key] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(header) ?? []
  assert.equal(key, publicKey)
  const [head, body, signature] = token!.split('.') as [string, string, string]
  const raw = Buffer.from(publicKey, 'base64url')
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: raw.subarray(1, 33).toString('base64url'),
    y: raw.subarray(33, 65).toString('base64url'),
  }
  const verify = createVerify('SHA256').update(`${head}.${body}`)
  const known = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const
  assert.ok(verify.verify(known, Buffer.from(signature, 'base64url')), 'the signature holds')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  assert.equal(claims.aud, origin)
  assert.ok(claims.exp * 1000 > Date.now() && claims.exp * 1000 <= Date.now() + 86_400_000)
  assert.match(claims.sub, /^(mailto:|https:)/)
}

/** RFC 8188, 2 with the keys of RFC 8291, 3.4: one record. */
function decrypt(body: Buffer, privateKey: Buffer, publicKey: Buffer, auth: Buffer): string {
  const salt = body.subarray(0, 16)
  const length = body[20]!
  const sender = body.subarray(21, 21 + length)
  const secret = createECDH('prime256v1')
  secret.setPrivateKey(privateKey)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, sender])
  const key = Buffer.from(hkdfSync('sha256', secret.computeSecret(sender), auth, info, 32))
  const contentKey = Buffer.from(hkdfSync('sha256', key, salt, 'Content-Encoding: aes128gcm\0', 16))
  const nonce = Buffer.from(hkdfSync('sha256', key, salt, 'Content-Encoding: nonce\0', 12))
  const sealed = body.subarray(21 + length)
  const decipher = createDecipheriv('aes-128-gcm', contentKey, nonce)
  decipher.setAuthTag(sealed.subarray(-16))
  const plain = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()])
  // Padding: a delimiter of 2 in the last record, then zeros.
  return plain.subarray(0, plain.lastIndexOf(2)).toString()
}
