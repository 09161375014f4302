import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

/** A browser with an authenticator, as far as a server sees them (WebAuthn Level 3, 6.1 and 6.5). Lies where a test has it lie. */
export interface Authenticator {
  /** `navigator.credentials.create` on a page of this origin. */
  create(options: any, page: Page): any
  /** `navigator.credentials.get`: with the passkey that was made last, unless another is named. */
  get(options: any, page: Page & { id?: string; counter?: number }): any
  /** The passkeys that it has, by id. */
  ids(): string[]
}
interface Page {
  origin: string
  /** Default: the host name of the page. */
  rpId?: string
  /** Whether a PIN, a finger or the like was asked for. Default: yes. */
  verified?: boolean
}

export function authenticator(): Authenticator {
  const keys = new Map<string, { sign: (bytes: Buffer) => Buffer; userHandle: string; counter: number }>()
  return {
    ids: () => [...keys.keys()],
    create(options, page) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const id = randomBytes(16)
      const { x, y } = publicKey.export({ format: 'jwk' })
      // COSE (RFC 9053, 7.1.1): EC2, ES256, P-256, x, y.
      const cose = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x!, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y!, 'base64url'),
      ])
      const sign = (bytes: Buffer): Buffer => createSign('SHA256').update(bytes).sign(privateKey)
      keys.set(id.toString('base64url'), { sign, userHandle: options.user.id, counter: 0 })
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, cose])
      const data = Buffer.concat([authenticatorData(page, 0, 0x40), attested])
      // CBOR: {fmt: 'none', attStmt: {}, authData: bytes}
      const attestation = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
        Buffer.from([0x58, data.length]),
        data,
      ])
      return {
        id: id.toString('base64url'),
        rawId: id.toString('base64url'),
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData('webauthn.create', options.challenge, page.origin).toString('base64url'),
          attestationObject: attestation.toString('base64url'),
          transports: ['internal'],
        },
      }
    },
    get(options, page) {
      const id = page.id ?? [...keys.keys()].at(-1)!
      const key = keys.get(id)!
      key.counter += 1
      const data = authenticatorData(page, page.counter ?? key.counter, 0)
      const client = clientData('webauthn.get', options.challenge, page.origin)
      return {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: key.sign(Buffer.concat([data, sha256(client)])).toString('base64url'),
          userHandle: key.userHandle,
        },
      }
    },
  }
}

const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest()

function authenticatorData({ origin, rpId, verified = true }: Page, counter: number, more: number): Buffer {
  const count = Buffer.alloc(4)
  count.writeUInt32BE(counter)
  return Buffer.concat([
    sha256(rpId ?? new URL(origin).hostname),
    Buffer.from([0x01 | (verified ? 0x04 : 0) | more]),
    count,
  ])
}

const clientData = (type: string, challenge: string, origin: string): Buffer =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
