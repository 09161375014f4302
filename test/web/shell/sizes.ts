/** The load size of the built app's pages, from the build manifest: Brotli quality 9, in bytes. */
import { readFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { buildApp } from '#interfaces/app/build.ts'

interface Chunk {
  file: string
  imports?: string[]
}
type Manifest = Record<string, Chunk>

const ENTRY = 'index.html'
/** The frame of pages for signed-in users. */
const SHELL = 'src/shell/shell.tsx'
const pages = {
  'sign-in': ['src/entry/entry.tsx', 'src/entry/sign-in.tsx'],
  home: [SHELL, 'src/home/home.tsx'],
  chats: [SHELL, 'src/chats/chats.tsx'],
  'a chat': [SHELL, 'src/chats/chat.tsx'],
  'the drive': [SHELL, 'src/drive/drive.tsx'],
} as const
/** Not part of a page: the library of the diagram frame. */
const DIAGRAMS = '@mermaid-js/tiny/dist/mermaid.tiny.js'

export interface Sizes {
  /** JavaScript needed to show the page. */
  pages: Record<keyof typeof pages, number>
  /** Every JavaScript file, largest first. */
  parts: { file: string; size: number }[]
  diagrams: number
  styles: number
  /** The preloaded fonts, in their compressed format. */
  fonts: { count: number; size: number }
}

const compress = promisify(brotliCompress)

export async function sizesOfApp(): Promise<Sizes> {
  const folder = await buildApp(tmpdir())
  const manifest = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8')) as Manifest
  const known = new Map<string, Promise<number>>()
  const sizeOf = (file: string): Promise<number> => {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
    const size = known.get(file) ?? compress(readFileSync(join(folder, file)), { params }).then(({ length }) => length)
    known.set(file, size)
    return size
  }
  const sumOf = async (files: Iterable<string>): Promise<number> =>
    (await Promise.all([...files].map(sizeOf))).reduce((sum, size) => sum + size, 0)
  const isScript = (file: string): boolean => file.endsWith('.js')
  const ofPage = (parts: readonly string[]): Promise<number> => {
    const files = [ENTRY, ...parts].reduce((found, key) => closureOf(manifest, key, found), new Set<string>())
    return sumOf([...files].filter(isScript))
  }
  const first = await Promise.all(Object.entries(pages).map(async ([name, parts]) => [name, await ofPage(parts)]))
  const scripts = Object.entries(manifest).filter(([, { file }]) => isScript(file))
  const apart = scripts.filter(([key]) => !key.endsWith(DIAGRAMS)).map(([, { file }]) => file)
  const parts = await Promise.all([...new Set(apart)].map(async (file) => ({ file, size: await sizeOf(file) })))
  const library = Object.values(manifest).find(({ file }) => /mermaid\.tiny.*\.js$/.test(file))
  const markup = readFileSync(join(folder, ENTRY), 'utf8')
  const fonts = [...markup.matchAll(/<link rel="preload" as="font"[^>]* href="\/app\/([^"]+)"/g)].map(
    ([, name]) => readFileSync(join(folder, name!)).length,
  )
  const styles = readdirSync(join(folder, 'assets')).filter((name) => name.endsWith('.css'))
  return {
    pages: Object.fromEntries(first) as Sizes['pages'],
    parts: parts.toSorted((a, b) => b.size - a.size),
    diagrams: library === undefined ? 0 : await sizeOf(library.file),
    styles: await sumOf(styles.map((name) => `assets/${name}`)),
    fonts: { count: fonts.length, size: fonts.reduce((sum, size) => sum + size, 0) },
  }
}

/** A file with all its static imports. */
function closureOf(manifest: Manifest, key: string, found: Set<string>): Set<string> {
  const chunk = manifest[key]
  if (chunk === undefined) throw new Error(`${key} is not in the manifest of the build.`)
  if (found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const next of chunk.imports ?? []) closureOf(manifest, next, found)
  return found
}
