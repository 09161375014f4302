// Thorough: run by the merge check, or by name; two dozen commands, each in a process of its own.
/** The guide on the command line, as it stands there: only the address is this test's, and the password comes from a pipe. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { exits } from '#interfaces/cli/exit.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'

const root = join(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/guides/cli.md'), 'utf8')
const run = promisify(execFile)

test('the CLI guide works step by step', async () => {
  await using server = await testServer()
  using home = temporaryDir('ukiyo-cli-guide-')
  mkdirSync(join(home.path, '.local/share/bash-completion/completions'), { recursive: true })
  const commands = [...guide.matchAll(/^```sh\n([^]*?)^```$/gm)]
    .map(([, code]) => code!)
    // It has no end; src/interfaces/cli/commands/listen.test.ts runs it.
    .filter((code) => !code.startsWith('uk listen'))
    .join('')
    .replace(/^uk sign-up .*$/m, (line) => `echo 'a long password' | ${line} --password-stdin`)
  assert.ok(commands.split('\n').length > 18, commands)
  const running = run('bash', ['-euxo', 'pipefail', '-c', commands], {
    cwd: root,
    env: { PATH: `${join(root, 'bin')}:${process.env.PATH}`, HOME: home.path, UK_ORIGIN: server.origin },
  })
  // Nothing is piped in: `uk ask` reads its input to the end.
  running.child.stdin?.end()
  const { stdout, stderr } = await running
  const said = stdout + stderr
  assert.match(stdout, /^What is a monad\?\nAnd in one sentence\n/m)
  assert.match(stdout, /\n\nWhich of these commits is the largest\n/)
  assert.match(stdout, /^Which files are empty\n/m)
  assert.match(
    stdout,
    /^sim\/echo\nWhat is a monad\?\n/m,
    'the field of an agent, and the chat with more than two messages',
  )
  assert.match(stdout, /^Reports\/README\.md\n/m)
  assert.match(stdout, /^Reports\/README\.md:\d+:.*Ukiyo/m)
  assert.match(stdout, /^Plans of the team\nhttp:\/\/\S+\/app\/chats\/[0-9A-Z]{26}\n/m)
  assert.match(said, /Cleared\. Commands now use your personal workspace\./)
})

test('the guide’s table of exit codes matches the program', () => {
  const told = [...guide.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, code, meaning]) => [
    Number(code),
    meaning!.slice(0, 12),
  ])
  assert.deepEqual(
    told.map(([code]) => code),
    Object.values(exits).map(([code]) => code),
  )
})
