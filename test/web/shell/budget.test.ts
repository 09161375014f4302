/** What a page of the built app loads, added up over the build's manifest, and the table of routes that it carries. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { contracts } from '#areas/contracts.ts'
import { buildApp } from '#faces/app/build.ts'
import { split } from '#faces/client.ts'
import type { AnyEndpoint, Area } from '#kernel/contract.ts'
import { moduleOf } from '../../../web/contract-routes.ts'

const KB = 1024
const FIRST_LOAD = 200 * KB
const LAZY_PART = 170 * KB
const STYLES = 20 * KB
/** The fonts that are read before the first page stands. */
const FONTS = 60 * KB
/** What stands around every page of somebody who is signed in. */
const SHELL = 'src/shell/shell.tsx'
/** No part of a page: the library of the frame that draws diagrams, which is one file. */
const DIAGRAMS = '@mermaid-js/tiny/dist/mermaid.tiny.js'

interface Chunk {
  file: string
  src?: string
  isEntry?: boolean
  imports?: string[]
  dynamicImports?: string[]
}
type Manifest = Record<string, Chunk>

const compress = promisify(brotliCompress)
const sizes = new Map<string, Promise<number>>()
/** Bytes of a built file by brotli of quality 9. */
function sizeOf(folder: string, file: string): Promise<number> {
  const known = sizes.get(file)
  if (known) return known
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
  const size = compress(readFileSync(join(folder, file)), { params }).then(({ length }) => length)
  sizes.set(file, size)
  return size
}

/** The files that must be there before this one runs, itself included. */
function closureOf(manifest: Manifest, key: string, found = new Set<string>()): Set<string> {
  const chunk = manifest[key]
  assert.ok(chunk, `${key} is not in the manifest`)
  if (found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const next of chunk.imports ?? []) closureOf(manifest, next, found)
  return found
}

const inKB = (bytes: number): string => `${(bytes / KB).toFixed(1)} KB`

test('sign-in, home, chats and drive stay in the budget of a first load, and so does each part that comes later', async () => {
  const folder = await buildApp(tmpdir())
  const manifest = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8')) as Manifest
  const entry = 'index.html'
  const page = async (...parts: string[]): Promise<number> => {
    const files = [entry, ...parts].reduce((found, key) => closureOf(manifest, key, found), new Set<string>())
    const each = await Promise.all(
      [...files].filter((file) => file.endsWith('.js')).map((file) => sizeOf(folder, file)),
    )
    return each.reduce((sum, size) => sum + size, 0)
  }
  const pages: Record<string, string[]> = {
    'sign-in': ['src/entry/entry.tsx', 'src/entry/sign-in.tsx'],
    home: [SHELL, 'src/home/home.tsx'],
    chats: [SHELL, 'src/chats/chats.tsx'],
    chat: [SHELL, 'src/chats/chat.tsx'],
    ...(existsSync(join(import.meta.dirname, '../../../web/src/drive/drive.tsx')) && {
      drive: [SHELL, 'src/drive/drive.tsx'],
    }),
  }
  for (const [name, parts] of Object.entries(pages)) {
    const size = await page(...parts)
    assert.ok(size <= FIRST_LOAD, `${name} loads ${inKB(size)} of JavaScript first`)
  }
  for (const [key, { file }] of Object.entries(manifest)) {
    if (!file.endsWith('.js') || key.endsWith(DIAGRAMS)) continue
    const size = await sizeOf(folder, file)
    assert.ok(size <= LAZY_PART, `${file} has ${inKB(size)}`)
  }
  const markup = readFileSync(join(folder, entry), 'utf8')
  const fonts = [...markup.matchAll(/<link rel="preload" as="font"[^>]* href="\/app\/([^"]+)"/g)].map(
    ([, name]) => name!,
  )
  const ofFonts = fonts.reduce((sum, name) => sum + readFileSync(join(folder, name)).length, 0)
  assert.ok(fonts.length === 2 && ofFonts <= FONTS, `${fonts.join()}: ${inKB(ofFonts)} of fonts`)
  const styles = readdirSync(join(folder, 'assets')).filter((name) => name.endsWith('.css'))
  assert.ok(styles.length > 0)
  const css = await Promise.all(styles.map((name) => sizeOf(folder, `assets/${name}`)))
  const total = css.reduce((sum, size) => sum + size, 0)
  assert.ok(total <= STYLES, `the styles have ${inKB(total)}`)
})

test('the table of routes in the app sends every call where its contract would', async () => {
  const code = await moduleOf(contracts)
  const table = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as { contracts: typeof contracts }
  let compared = 0
  for (const [name, load] of Object.entries(contracts)) {
    const mine = (await table.contracts[name as keyof typeof contracts]()) as unknown as Area
    for (const [verb, endpoint] of Object.entries((await load()).endpoints) as [string, AnyEndpoint][]) {
      const named = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, param]) => param!)
      const paging = endpoint.reply.kind === 'page' ? ['limit', 'cursor'] : ['limit', 'offset']
      const fields = [...named, ...Object.keys(endpoint.query ?? {}), ...Object.keys(endpoint.body ?? {}), ...paging]
      const input = Object.fromEntries(fields.map((field) => [field, `a ${field}`]))
      const line = mine.endpoints[verb]!
      assert.deepEqual(split(line, input), split(endpoint, input), `${name}.${verb}`)
      assert.equal(line.method, endpoint.method)
      assert.equal(line.reply.kind, endpoint.reply.kind)
      const other = ({ reply }: AnyEndpoint): boolean => 'or' in reply && reply.or !== undefined
      assert.equal(other(line), other(endpoint), `${name}.${verb}`)
      compared++
    }
  }
  assert.ok(compared > 150)
})
