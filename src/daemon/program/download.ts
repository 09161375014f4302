import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { ServerHello } from '#daemon-protocol/hello.ts'
import { type Version, folderOf, hashOf, isWhole, readManifest } from './versions.ts'

export type Offer = NonNullable<ServerHello['update']>

const LARGEST_MANIFEST = 4_096
/** Forty times the size of a release. */
const LARGEST = 64 * 1024 * 1024
const SILENT_MS = 30_000

/** The download differs from the offer. Retrying would return the same bytes. */
export class Refused extends Error {}

/**
 * Downloads a release from its server and verifies every hash. Follows no redirects, sends no credential, and keeps
 * no byte outside the announced manifest. Throws `Refused`.
 */
export async function downloadRelease(
  origin: string,
  offer: Offer,
  place: string,
  signal: AbortSignal,
): Promise<Version> {
  const version = { place, release: offer.sha256 }
  if (!/^[0-9a-f]{64}$/.test(offer.sha256)) throw new Refused('the offer has no SHA-256')
  if (offer.size > LARGEST) throw new Refused(`${offer.size} bytes are too many`)
  if (await isWhole(version)) return version
  const manifest = await readAll(origin, offer.sha256, LARGEST_MANIFEST, signal)
  const rows = readManifest(manifest)
  if (rows === null) throw new Refused('invalid manifest')
  const versions = join(place, 'versions')
  await mkdir(versions, { recursive: true, mode: 0o700 })
  const making = await mkdtemp(join(versions, 'new-'))
  try {
    let bytesLeft = offer.size
    for (const { sha256, name } of rows) {
      await using file = await open(join(making, name), 'wx', name === 'uk.mjs' ? 0o600 : 0o700)
      for await (const part of receive(origin, sha256, bytesLeft, signal)) {
        bytesLeft -= part.length
        await file.writeFile(part)
      }
      await file.sync()
    }
    await using file = await open(join(making, 'manifest'), 'wx', 0o600)
    await file.writeFile(manifest)
    await file.sync()
    // Another daemon of this server may have downloaded it meanwhile and be trying it.
    if (await isWhole(version)) return version
    // An incomplete version folder here was damaged by something else.
    await rm(folderOf(version), { recursive: true, force: true })
    await rename(making, folderOf(version))
    await using folder = await open(versions, 'r')
    await folder.sync()
    return version
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}

async function readAll(origin: string, sha256: string, most: number, signal: AbortSignal): Promise<string> {
  const parts = await Array.fromAsync(receive(origin, sha256, most, signal))
  const text = Buffer.concat(parts).toString()
  if (hashOf(text) !== sha256) throw new Refused("the manifest isn't UTF-8")
  return text
}

/** Throws after the last byte if the hash doesn't match, so consumers must read to the end. */
async function* receive(origin: string, sha256: string, most: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const url = new URL(`/install/files/${sha256}`, origin)
  const response = await ask(url, signal)
  try {
    if (response.statusCode !== 200) throw new Error(`${url.href} answered with ${response.statusCode}`)
    const hash = createHash('sha256')
    let size = 0
    for await (const part of response as AsyncIterable<Buffer>) {
      size += part.length
      if (size > most) throw new Refused('the download is larger than announced')
      hash.update(part)
      yield part
    }
    if (hash.digest('hex') !== sha256) throw new Refused("the hash doesn't match")
  } finally {
    response.destroy()
  }
}

function ask(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { signal, timeout: SILENT_MS })
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${url.origin} was silent for too long`)))
    outgoing.once('response', resolve).once('error', reject).end()
  })
}
