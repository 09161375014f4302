import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEVICES, brokenRule, foldings } from '#test/drive/windows-paths.ts'
import { portableName, portablePaths } from './portable-names.ts'

const PIECES = [
  ...Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((one) => one !== '/'),
  'a',
  'A',
  'é',
  'e\u0301',
  'ß',
  'ss',
  'SS',
  'İ',
  'ı',
  'ﬁ',
  '😀',
  ' ',
  '.',
  '..',
  'x'.repeat(120),
  '请'.repeat(80),
  ...DEVICES,
  ...DEVICES.map((name) => name.toLowerCase()),
  '.txt',
  '.tar.gz',
  ' .log',
  ' (2)',
  '_',
]

/** Names in a reproducible order. */
function names(count: number): string[] {
  let seed = 7
  const draw = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + draw(3) }, () => PIECES[draw(PIECES.length)]!)
      .join('')
      .normalize('NFC')
      .slice(0, 200)
      .toWellFormed(),
  ).filter((name) => name !== '.' && name !== '..' && name.trim() !== '' && Buffer.byteLength(name) <= 255)
}

test('every valid drive name becomes one that Windows and macOS accept, and portable names stay unchanged', () => {
  for (const name of [...PIECES, ...names(3_000)].filter((one) => one.trim() !== '' && !/^\.\.?$/.test(one)))
    assert.equal(
      brokenRule(
        portableName(name)
          .slice(0, 100)
          .replace(/[. ]+$/, '') || '_',
      ),
      null,
      JSON.stringify(name),
    )
  for (const name of [
    'Budget.txt',
    'été 2026.pdf',
    '.env',
    'console.log',
    'COM10.txt',
    'a (2).txt',
    '请.md',
    'nullable',
  ])
    assert.equal(portableName(name), name.normalize('NFC'))
})

test('the entries of an archive have different paths on systems that ignore case and Unicode form', () => {
  const pathFor = portablePaths('export')
  const folders = ['export']
  const paths: string[] = []
  const usedNames = new Set<string>()
  for (const [index, name] of names(4_000).entries()) {
    const path = `${folders[index % folders.length]!}/${name}`
    if (usedNames.has(path) || path.length > 3_000) continue
    usedNames.add(path)
    const isFolder = index % 5 === 0
    if (isFolder) folders.push(path)
    paths.push(pathFor(path, isFolder ? 'folder' : 'file'))
  }
  assert.ok(paths.length > 3_000)
  for (const path of paths) assert.equal(brokenRule(path), null, path)
  for (const key of foldings) assert.equal(new Set(paths.map(key)).size, paths.length)
})

test('files stay in their folder even if it is renamed', () => {
  const pathFor = portablePaths('why?')
  assert.deepEqual(
    [
      pathFor('why?/A', 'folder'),
      pathFor('why?/a', 'folder'),
      pathFor('why?/A/9:30 call.txt', 'file'),
      pathFor('why?/a/x.', 'file'),
      pathFor('why?/Budget.txt', 'file'),
      pathFor('why?/budget.txt', 'file'),
      pathFor('why?/BUDGET.TXT', 'file'),
    ],
    [
      'why_/A',
      'why_/a (2)',
      'why_/A/9_30 call.txt',
      'why_/a (2)/x_',
      'why_/Budget.txt',
      'why_/budget (2).txt',
      'why_/BUDGET (3).TXT',
    ],
  )
})

test('many colliding names are numbered in one pass', () => {
  const pathFor = portablePaths('x')
  const paths = Array.from({ length: 4_096 }, (_, bits) =>
    pathFor(`x/${[...'abcdefghijkl'].map((one, at) => (bits & (1 << at) ? one.toUpperCase() : one)).join('')}`, 'file'),
  )
  assert.equal(new Set(paths.map((path) => path.toLowerCase())).size, 4_096)
})
