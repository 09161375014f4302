import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ranBy, recorder } from '#test/cli/uk.ts'
import { needs } from '#test/needs.ts'
import { run } from './run.ts'

const home = await mkdtemp(join(tmpdir(), 'uk-cli-'))
after(() => rm(home, { recursive: true }))

const script = async (shell: string): Promise<string> => {
  const terminal = recorder()
  await run(['completion', shell], terminal)
  return terminal.said.join('')
}

/** Asks a shell for its completions of the last word. */
const shells: Record<string, { args: string[]; ask: (words: readonly string[]) => string }> = {
  bash: {
    args: [],
    ask: (words) =>
      `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _uk; printf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  // Replaces the display function, which needs a terminal.
  zsh: {
    args: ['-f'],
    ask: (words) =>
      `words=(${quoted(words)}); CURRENT=${words.length}; _uk; print -rl -- \${(M)offered:#${words.at(-1)}*}`,
  },
  fish: { args: ['--no-config'], ask: (words) => `complete -C ${quoted([words.join(' ')])}` },
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ')
const before: Record<string, string> = {
  zsh: 'compdef() {}; _files() {}; _describe() { offered=(${(P)2%%:*}) }\n',
}

const installed = (program: string): boolean =>
  process.env.PATH!.split(':').some((folder) => existsSync(join(folder, program)))

for (const [shell, { args, ask }] of Object.entries(shells))
  test(`${shell} completes commands, options and their values`, needs(installed(shell), shell), async () => {
    const text = await script(shell)
    const complete = async (...words: string[]): Promise<string[]> =>
      (await shellRun(shell, args, `${before[shell] ?? ''}${text}\n${ask(words)}\n`))
        .split('\n')
        .map((line) => line.split('\t')[0]!)
        .filter((word) => word.startsWith(words.at(-1)!))
    assert.deepEqual(await complete('uk', 'api-k'), ['api-keys'])
    assert.deepEqual(await complete('uk', 'logi'), ['login'])
    assert.deepEqual(await complete('uk', 'api-keys', 'r'), ['revoke', 'rotate'])
    assert.deepEqual(await complete('uk', 'api-keys', 'list', '--stat'), ['--status'])
    assert.deepEqual(await complete('uk', 'api-keys', 'list', '--status', 're'), ['revoked'])
    assert.deepEqual(await complete('uk', 'api-keys', 'list', '--all', '--js'), ['--json'])
    assert.deepEqual(await complete('uk', 'chats', 'get', 'ID', '--js'), ['--json'])
    assert.deepEqual(await complete('uk', 'login', '--passw'), ['--password-stdin'])
    assert.deepEqual(await complete('uk', 'admin', 'reset-password', '--passw'), ['--password-stdin'])
    assert.deepEqual(await complete('uk', 'completion', 'z'), ['zsh'])
    assert.deepEqual(await complete('uk', 'help', 'exit'), ['exit-codes'])
  })

/** A script's output; fails on any shell warning. */
async function shellRun(shell: string, args: readonly string[], text: string): Promise<string> {
  const file = join(home, `completion.${shell}`)
  await writeFile(file, text)
  const ran = await ranBy(spawn(shell, [...args, file], { env: { PATH: process.env.PATH!, HOME: home } }))
  assert.equal(ran.err, '')
  return ran.out
}
