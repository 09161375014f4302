import { type ReadStream, createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { networkOf } from '#infra/network.ts'
import type { Bytes } from '#core/answers.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { PLATFORMS } from './addons.ts'
import { createPlaces } from './places.ts'
import type { File, Releases } from './releases.ts'
import { shorten } from '#core/text/shorten.ts'

export const INSTALL_PREFIX = '/install'

const SCRIPT = readFileSync(join(import.meta.dirname, 'install.sh'), 'utf8')
const TEXT = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }

/**
 * Serves `/install` (script), `/install/<platform>` (manifest), `/install/<platform>/node` and
 * `/install/files/<sha256>`. Public: everything is in every clone.
 */
export async function openInstall(
  releases: Releases,
  { method, url, ip }: { method: string; url: string; ip: string },
  origin: string,
): Promise<Bytes> {
  if (method !== 'GET' && method !== 'HEAD')
    refuse('method_not_allowed', { message: 'This path supports GET and HEAD.', headers: { allow: 'GET, HEAD' } })
  const [, , what, which, ...more] = url.split('?')[0]!.split('/')
  if (!/^\/install(\/|\?|$)/.test(url) || more.length > 0) return nothing()
  if (what === undefined) return plain(SCRIPT.replaceAll('@origin@', origin))
  if (what === 'files') return stored(await releases.file(which ?? ''), networkOf(ip))
  if (which === 'node') {
    const file = await releases.node(what)
    return file === null
      ? nothing(`This server has no Node.js for ${shorten(what, 40)}, only for its own platform.`)
      : plain(`${file.sha256}  node\n`)
  }
  if (which !== undefined) return nothing()
  // The reason names local paths and registries.
  const release = await Promise.try(() => releases.of(what)).catch(() => null)
  if (release !== null) return plain(release.manifest)
  return nothing(
    (PLATFORMS as readonly string[]).includes(what)
      ? `This server couldn’t get the program for ${what}. The server log has the details.`
      : `There is no program for ${shorten(what, 40)}. Available: ${PLATFORMS.join(', ')}.`,
  )
}

const nothing = (message = 'This path doesn’t exist.'): never => refuse('not_found', { message })

const plain = (body: string): Bytes => ({ headers: { ...TEXT, 'cache-control': 'no-store' }, body })

function stored(file: File | null, network: string): Bytes {
  if (file === null) return nothing('This server no longer has a file with this SHA-256.')
  const { path, size, sha256, modifiedAt } = file
  return {
    headers: {
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=31536000, immutable',
    },
    body: {
      size,
      modifiedAt,
      etag: `"${sha256}"`,
      read: (range) => readPart(path, range, network),
    },
  }
}

/** Clients retry when all places are taken. */
const MAX_CONCURRENT = 64
const places = createPlaces(MAX_CONCURRENT)

/** Preempted readers request the rest. */
async function* readPart(
  path: string,
  { start, end }: { start: number; end: number },
  network: string,
): AsyncGenerator<Uint8Array> {
  let file: ReadStream | null = null
  const reader = places.take(network, () => file?.destroy(new Refusal('unavailable')))
  if (reader === null)
    return refuse('unavailable', {
      message: 'Too many downloads are running. Try again in a few seconds.',
      headers: { 'retry-after': String(2 + Math.floor(Math.random() * 8)) },
    })
  using place = reader
  file = createReadStream(path, { start, end: end - 1 })
  for await (const part of file as AsyncIterable<Uint8Array>) {
    yield part
    place.took(part.length)
  }
}

/** The public URL, else the request's host: a server on all addresses can't know its reachable address. */
export const originFor = (publicUrl: string | null, own: string, host: string | undefined): string =>
  publicUrl ?? (host !== undefined && /^([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/i.test(host) ? `http://${host}` : own)
