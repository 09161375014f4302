import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadContracts } from '#areas/contracts.ts'
import { list } from '#kernel/registry.ts'
import { specialFor } from '../commands/specials.ts'
import { parseArguments } from '../input/arguments.ts'
import { fieldsOf } from '../input/fields.ts'
import { findCommand } from '../resolve.ts'
import { exampleCommands } from './examples.ts'

const root = join(import.meta.dirname, '../../../..')

/** The words of each line, as a shell takes them apart; nothing is run. */
function wordsOf(lines: readonly string[]): string[][] {
  const script = lines.map((line) => `set -f; set -- ${line}\nprintf '%s\\0' "$@"; printf '\\1\\0'`).join('\n')
  const printed = execFileSync('sh', ['-c', script], { encoding: 'utf8', maxBuffer: 1 << 26 })
  return printed
    .split('\x01\0')
    .slice(0, -1)
    .map((words) => words.split('\0').slice(0, -1))
}

/** Why the command line does not take this; null: it does. */
async function refusal([program, ...words]: readonly string[]): Promise<string | null> {
  if (program !== 'uk') return `it begins with ${program}`
  if (specialFor(words) !== undefined || words.length === 0 || words[0]!.startsWith('--')) return null
  const found = await findCommand(words)
  if (found.kind !== 'command') return 'there is no such command'
  return parseArguments(found.rest, fieldsOf(found.listed.endpoint), async () => 'a text').then(
    () => null,
    (error: Error) => error.message,
  )
}

test('the command line takes every example that the docs make of its contracts, and as the command that they show', async () => {
  const all = list(await loadContracts()).flatMap((listed) => exampleCommands(listed).map((line) => ({ listed, line })))
  assert.ok(all.length > 200)
  const words = wordsOf(all.map(({ line }) => line))
  for (const [i, { listed, line }] of all.entries()) {
    const found = await findCommand(words[i]!.slice(1))
    assert.equal(found.kind === 'command' && found.listed.name, listed.name, line)
    assert.equal(await refusal(words[i]!), null, line)
  }
})

test('the command line takes every command that the guides and the README show', async () => {
  const shown: { file: string; line: string }[] = []
  for (const file of ['README.md', ...globSync('docs/**/*.md', { cwd: root })]) {
    if (file.includes('decisions/') || file.endsWith('first-hour.md')) continue
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, block] of text.matchAll(/^```sh\n(.*?)^```$/gms))
      for (const whole of block!.replaceAll(/\\\n\s*/g, ' ').split('\n')) {
        // What is piped, chained or filled in by a shell has the command in its midst.
        const command = /(?:^|[;&|] |\$\()(uk .*?)(?: +#.*| \| .*| && .*| >\S+.*|; done.*|\)$)?$/.exec(whole)?.[1]
        if (command === undefined || command.includes('$(')) continue
        shown.push({
          file,
          line: command
            .replaceAll(/<[^>]*>/g, 'PLACE')
            .replaceAll(/[…]/g, 'x')
            .replaceAll(/\$\w+/g, 'x'),
        })
      }
  }
  assert.ok(shown.length > 60, String(shown.length))
  // One that spans lines in quotes is not one line.
  const whole = shown.filter(
    ({ line }) => (line.split("'").length - 1) % 2 === 0 && (line.split('"').length - 1) % 2 === 0,
  )
  const words = wordsOf(whole.map(({ line }) => line))
  const refused: string[] = []
  for (const [i, { file, line }] of whole.entries()) {
    const why = await refusal(words[i]!)
    if (why !== null) refused.push(`${file}: ${line}: ${why}`)
  }
  assert.deepEqual(refused, [])
})
