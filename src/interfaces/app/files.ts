import { hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

export interface File {
  type: string
  bytes: Buffer
  /** Compressed on first use, since most files are never requested; null if compression doesn't help. */
  packed(): Promise<Buffer | null>
  etag: string
  /** Whether the file name contains a content hash. */
  hashed: boolean
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  // pdf.js resources (web/pdf-parts.ts).
  '.bcmap': 'application/octet-stream',
  '.pfb': 'application/octet-stream',
  '.ttf': 'font/ttf',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}
/** Small or already compressed files. */
const dense = new Set(['.bcmap', '.pfb', '.png', '.woff2'])
const pack = promisify(gzip)

/** The files of the built app by path below `/app`. All of them fit in a few megabytes of memory. */
export function readFiles(folder: string): ReadonlyMap<string, File> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) in types)
    .map((entry) => join(entry.parentPath, entry.name))
  const files = names.map((name): [string, File] => {
    const bytes = readFileSync(name)
    let packed: Promise<Buffer | null> | undefined
    const path = name.slice(folder.length).replaceAll('\\', '/')
    const file = {
      type: types[extname(name)]!,
      bytes,
      packed: () => (packed ??= dense.has(extname(name)) ? Promise.resolve(null) : packedOf(bytes)),
      etag: `"${hash('sha1', bytes, 'base64url')}"`,
      hashed: path.startsWith('/assets/'),
    }
    return [path, file]
  })
  return new Map(files)
}

async function packedOf(bytes: Buffer): Promise<Buffer | null> {
  const packed = await pack(bytes, { level: 9 })
  return packed.length < bytes.length * 0.9 ? packed : null
}
