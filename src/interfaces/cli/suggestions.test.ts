// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { recorder } from '#test/cli/uk.ts'
import { wordsOf } from '../words.ts'
import { isAlias, verbs } from './aliases.ts'
import { specials } from './commands/specials.ts'
import { Stop, exits } from './exit.ts'
import { globals } from './globals.ts'
import { parseArguments } from './input/arguments.ts'
import { fieldsOf } from './input/fields.ts'
import { run } from './run.ts'

const registry = list(await loadContracts())

/** All single-typo variants: a letter missing, doubled, wrong, or swapped with the next. */
const slipsOf = (word: string): string[] =>
  [...word].flatMap((letter, i) => [
    word.slice(0, i) + word.slice(i + 1),
    word.slice(0, i) + letter + word.slice(i),
    `${word.slice(0, i)}${letter === 'q' ? 'x' : 'q'}${word.slice(i + 1)}`,
    word.slice(0, i) + (word[i + 1] ?? '') + letter + word.slice(i + 2),
  ])

/** Typos that aren't words themselves. */
const mistakesFor = (word: string, known: ReadonlySet<string>): string[] =>
  [...new Set(slipsOf(word))].filter(
    (slip) => slip.length > 1 && !slip.startsWith('-') && !known.has(slip) && !isAlias(slip) && !(slip in verbs),
  )

/** A sample of typos across the word. */
const someFor = (word: string, known: ReadonlySet<string>): string[] => {
  const all = mistakesFor(word, known)
  return all.filter((_, i) => i % Math.max(1, Math.floor(all.length / 5)) === 0)
}

const answerTo = async (words: readonly string[]): Promise<string> => {
  const terminal = recorder({ env: { UK_ORIGIN: 'http://127.0.0.1:9' } })
  assert.equal(await run(words, terminal), exits.usage[0], words.join(' '))
  return terminal.told.join('\n')
}

test('a mistyped first word suggests the intended command', async () => {
  const words = new Set([...registry.map((one) => wordsOf(one)[0]!), ...specials.map((one) => one.words[0]!), 'help'])
  for (const word of [...words].filter((one) => one !== 'help'))
    for (const slip of mistakesFor(word, words)) {
      const answer = await answerTo([slip])
      assert.match(answer, new RegExp(`Unknown command "${slip}"\\.\nDid you mean .*\`${word}\``), `${word}\n${answer}`)
    }
})

test('a mistyped command of an area suggests the intended one', async () => {
  const commands = [...registry.map(wordsOf), ...specials.map(({ words }) => [...words])].filter(
    (words) => words.length > 1,
  )
  for (const [area, ...rest] of commands) {
    const verb = rest.join(' ')
    const known = new Set(commands.filter(([first]) => first === area).map(([, second]) => second!))
    if (rest.length > 1) continue
    for (const slip of someFor(verb, known)) {
      const answer = await answerTo([area!, slip])
      assert.match(
        answer,
        new RegExp(`Unknown command "${area} ${slip}"\\.\nDid you mean .*\`${area} ${verb}\``),
        answer,
      )
      assert.match(await answerTo(['help', area!, slip]), new RegExp(`Did you mean .*\`${area} ${verb}\``))
    }
  }
})

test('mistyped areas and words in another order suggest the intended command', async () => {
  for (const [typed, meant] of [
    ['chta list', 'chats'],
    ['drvie upload', 'drive'],
    ['agnet create', 'agents'],
    ['automatons list', 'automations'],
    ['Chats list', 'chats'],
    ['list chats', 'chats list'],
    ['create agents', 'agents create'],
    ['ls chats', 'chats list'],
    ['computers lst', 'computers list'],
    ['computers pari', 'computers pair'],
    ['import chatgtp', 'import chatgpt'],
    ['admin reset-pasword', 'admin reset-password'],
  ] as const)
    assert.match(await answerTo(typed.split(' ')), new RegExp(`Did you mean \`${meant}\``), typed)
  assert.match(await answerTo(['zzzzzz']), /Unknown command "zzzzzz"\.\nSee `uk help`\./)
  assert.match(await answerTo(['chats', 'zzzzzz']), /See `uk help chats`\./)
})

test('a mistyped option suggests the intended one', async () => {
  const hintFor = async (word: string, fields: Parameters<typeof parseArguments>[1]): Promise<string> => {
    const error = await parseArguments([word, 'value'], fields, async () => '').then(
      () => null,
      (thrown: unknown) => thrown,
    )
    assert.ok(error instanceof Stop && error.exit === 'usage', word)
    assert.match(error.message, new RegExp(`^Unknown option ${word}\\.`))
    return error.hint ?? ''
  }
  for (const one of registry) {
    const fields = fieldsOf(one.endpoint)
    const known = new Set([...fields.flatMap(({ flag }) => [flag, `no-${flag}`]), ...Object.keys(globals)])
    for (const { flag } of fields)
      for (const slip of someFor(flag, known))
        assert.ok(
          (await hintFor(`--${slip}`, fields)).includes(`\`--${flag}\``),
          `${one.name}: --${slip} for --${flag}`,
        )
  }
  const [create] = registry.filter(({ name }) => name === 'chats.create').map(({ endpoint }) => fieldsOf(endpoint))
  for (const name of Object.keys(globals))
    for (const slip of someFor(name, new Set([...create!.map(({ flag }) => flag), ...Object.keys(globals)])))
      assert.ok((await hintFor(`--${slip}`, create!)).includes(`\`--${name}\``), `--${slip} for --${name}`)
  assert.equal(await hintFor('--titel', create!), 'Did you mean `--title`?')
  assert.equal(await hintFor('--agent_id', create!), 'Did you mean `--agent-id`?')
  assert.equal(await hintFor('-title', create!), 'Did you mean `--title`?')
  for (const command of ['ask', 'chat'])
    for (const [typed, meant] of [
      ['mdl', 'model'],
      ['modle', 'model'],
      ['agnt', 'agent'],
      ['cont', 'continue'],
    ])
      assert.match(await answerTo([command, `--${typed}`, 'x']), new RegExp(`Did you mean .*\`--${meant}\``), typed)
  assert.match(await answerTo(['login', '--emial', 'ada@example.com']), /Did you mean `--email`\?/)
})
