import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { specialFor } from '../commands/specials.ts'
import { parseArguments } from '../input/arguments.ts'
import { fieldsOf } from '../input/fields.ts'
import { findCommand } from '../resolve.ts'
import { exampleCommands } from './examples.ts'

const root = join(import.meta.dirname, '../../../..')

/** Splits a line like a shell, up to a pipe, a redirection or another command. */
function wordsOf(line: string): string[] {
  const words: string[] = []
  let word: string | null = null
  for (const [token, single, double, escaped, plain] of line.matchAll(
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\|;&<>#]+)|\s+|[|;&<>#]/gs,
  )) {
    if (/^\s+$/.test(token)) {
      if (word !== null) words.push(word)
      word = null
    } else if (/^[|;&<>]$/.test(token) || (token === '#' && word === null)) break
    else word = (word ?? '') + (single ?? double?.replaceAll(/\\(.)/g, '$1') ?? escaped ?? plain ?? token)
  }
  if (word !== null) words.push(word)
  return words
}

/** The error for these words; null if they are valid. */
async function refusal([program, ...words]: readonly string[]): Promise<string | null> {
  if (program !== 'uk') return `it begins with ${program}`
  if (specialFor(words) !== undefined || words.length === 0 || words[0]!.startsWith('--')) return null
  const found = await findCommand(words)
  if (found.kind !== 'command') return 'there is no such command'
  return parseArguments(found.rest, fieldsOf(found.listed.endpoint), async () => 'a text').then(
    () => null,
    // File contents don't matter here.
    ({ message }: Error) => (/can't read .*: ENOENT/.test(message) ? null : message),
  )
}

test('every generated example in the docs is a valid command', async () => {
  const all = list(await loadContracts()).flatMap((listed) => exampleCommands(listed).map((line) => ({ listed, line })))
  assert.ok(all.length > 200)
  for (const { listed, line } of all) {
    const words = wordsOf(line)
    const found = await findCommand(words.slice(1))
    assert.equal(found.kind === 'command' && found.listed.name, listed.name, line)
    assert.equal(await refusal(words), null, line)
  }
})

test('every command in the guides and the README is valid', async () => {
  const shown: { file: string; line: string }[] = []
  for (const file of ['README.md', ...globSync('docs/**/*.md', { cwd: root })]) {
    if (file.includes('decisions/') || file.endsWith('first-hour.md')) continue
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, block] of text.matchAll(/^```sh\n(.*?)^```$/gms))
      for (const [, line] of block!.replaceAll(/\\\n\s*/g, ' ').matchAll(/(?:^|[;&|(] ?)(uk [^\n]*)$/gm))
        shown.push({ file, line: line!.replaceAll(/<[^>\s][^>]*>/g, 'PLACE').replaceAll(/\$\(.*?\)/g, 'x') })
  }
  assert.ok(shown.length > 60, String(shown.length))
  const refused: string[] = []
  for (const { file, line } of shown) {
    // Multi-line quotes contain JSON, which contract examples cover.
    if (line.split("'").length % 2 === 0) continue
    const why = await refusal(wordsOf(line))
    if (why !== null) refused.push(`${file}: ${line}: ${why}`)
  }
  assert.deepEqual(refused, [])
})
