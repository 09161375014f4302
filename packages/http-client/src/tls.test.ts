import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { type TLSSocket, createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { addressPolicy } from './address.ts'
import { type Outbound, createOutbound } from './outbound.ts'

// A test certificate for `localhost` only.
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKdWL9tM/EKxngekA
eFz9KkIZfScOQ/ZnOAnBSPdrT4ahRANCAARLCkmhYQeKZq7XckqP04Rl9vhMOkiI
V2RG3mVcfH7Ip7p2EjIdgfpJivxlm72h8jZLF1frHZk7YFUEFmrk+rYQ
-----END PRIVATE KEY-----
`
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUbuKFeN0/olg6/rnJDy0DAjkBQI4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjA0MzQwNVoYDzIxMjYxMDI5
MDQzNDA1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARLCkmhYQeKZq7XckqP04Rl9vhMOkiIV2RG3mVcfH7Ip7p2EjIdgfpJ
ivxlm72h8jZLF1frHZk7YFUEFmrk+rYQo2kwZzAdBgNVHQ4EFgQUHKTD8KZidLZ+
FphNrcrYTD4WNKIwHwYDVR0jBBgwFoAUHKTD8KZidLZ+FphNrcrYTD4WNKIwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SAAwRQIhAKGo+wgCkCcIq5BSDXR6+cPoJBfWtRm2Xa3Z0C52myD5AiA5K69ADjAg
hZTMSR06XYphiBcvDEZdCqDuD0soyWel6g==
-----END CERTIFICATE-----
`

const LARGE = Buffer.alloc(3_000_000, Array.from({ length: 251 }, (_, i) => String.fromCharCode(i)).join(''), 'latin1')

async function secureServer() {
  const reuses: boolean[] = []
  const server = createServer({ key: KEY, cert: CERTIFICATE }, (request, response) => {
    // Without a length, the body ends with the connection.
    if (request.url === '/closing')
      Object.assign(response, { useChunkedEncodingByDefault: false, shouldKeepAlive: false })
    if (request.url === '/closing') response.write(LARGE.subarray(0, 10))
    response.end(request.url === '/closing' ? LARGE.subarray(10) : LARGE)
  })
  server.on('secureConnection', (socket: TLSSocket) => void reuses.push(socket.isSessionReused()))
  await new Promise<void>((resolve) => server.listen(0, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    reused: reuses,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** All pieces, inspected after the last arrived. A slow reader pauses briefly at each. */
function pieces(
  outbound: Outbound,
  origin: string,
  { slow = false, path = '/', party = 'anybody' } = {},
): Promise<Buffer[]> {
  const all: Buffer[] = []
  return new Promise((resolve, reject) =>
    outbound.dispatch(
      { origin, path, method: 'GET', headers: [], body: null, credential: '', party },
      {
        onRequestStart() {},
        onResponseData(controller, piece) {
          all.push(piece)
          if (!slow) return
          controller.pause()
          setTimeout(() => controller.resume(), 1)
        },
        onResponseEnd: () => resolve(all),
        onResponseError: (_, error) => reject(error),
      },
    ),
  )
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

test('TLS data stays intact with concurrent readers, and the party’s next connection resumes the session', async () => {
  await using server = await secureServer()
  const origin = `https://localhost:${server.port}`
  const certificates = getCACertificates()
  setDefaultCACertificates([...certificates, CERTIFICATE])
  try {
    await using outbound = createOutbound(addressPolicy(['127.0.0.1/32', '::1/128']))
    const first = await pieces(outbound, origin)
    const both = await Promise.all([pieces(outbound, origin), pieces(outbound, origin, { slow: true })])
    const closing = await pieces(outbound, origin, { slow: true, path: '/closing' })
    for (const all of [first, ...both, closing]) assert.equal(hash(Buffer.concat(all)), hash(LARGE))
    assert.deepEqual(server.reused, [false, true])
    await pieces(outbound, origin, { party: 'somebody else' })
    assert.deepEqual(server.reused, [false, true, false], 'a session is not lent to another party either')
  } finally {
    setDefaultCACertificates(certificates)
  }
})

test('a server with an untrusted or mismatched certificate is refused', async () => {
  await using server = await secureServer()
  await using outbound = createOutbound(addressPolicy(['127.0.0.1/32', '::1/128']))
  await assert.rejects(pieces(outbound, `https://localhost:${server.port}`), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  const certificates = getCACertificates()
  setDefaultCACertificates([...certificates, CERTIFICATE])
  try {
    await using other = createOutbound(addressPolicy(['127.0.0.1/32', '::1/128']))
    await assert.rejects(pieces(other, `https://127.0.0.1:${server.port}`), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  } finally {
    setDefaultCACertificates(certificates)
  }
})

test('a server that accepts a connection but stays silent times out', async () => {
  const mute = createTcpServer((socket) => void socket.on('error', () => {}).resume())
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  await using outbound = createOutbound(addressPolicy(['127.0.0.1/32']), { connectMs: 100 })
  const origin = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`
  await assert.rejects(pieces(outbound, origin), { code: 'UK_CONNECT_TIMEOUT' })
  mute.close()
})

test('a response followed by another one in a separate TLS record is the connection’s last', async () => {
  const answer = (body: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  let connections = 0
  const server = createTlsServer({ key: KEY, cert: CERTIFICATE, noDelay: true }, (socket) => {
    connections++
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const path = bytes.toString('latin1').split(' ')[1]!
      socket.write(answer(path))
      socket.write(answer(`again ${path}`))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  // Combines bytes that arrive within some milliseconds.
  const relay = createTcpServer((outer) => {
    const inner = connect((server.address() as AddressInfo).port)
    let chunks: Buffer[] = []
    let timer: NodeJS.Timeout | undefined
    inner.on('data', (piece) => {
      chunks.push(piece)
      clearTimeout(timer)
      timer = setTimeout(() => {
        outer.write(Buffer.concat(chunks))
        chunks = []
      }, 10)
    })
    outer.on('error', () => {}).on('close', () => inner.destroy())
    inner.on('error', () => {}).on('close', () => outer.destroy())
    outer.pipe(inner)
  })
  await new Promise<void>((resolve) => relay.listen(0, resolve))
  const certificates = getCACertificates()
  setDefaultCACertificates([...certificates, CERTIFICATE])
  try {
    await using outbound = createOutbound(addressPolicy(['127.0.0.1/32', '::1/128']))
    const origin = `https://localhost:${(relay.address() as AddressInfo).port}`
    for (let round = 0; round < 20; round++)
      assert.equal(Buffer.concat(await pieces(outbound, origin, { path: `/${round}` })).toString(), `/${round}`)
    assert.equal(connections, 20)
  } finally {
    setDefaultCACertificates(certificates)
    server.close()
    relay.close()
  }
})
