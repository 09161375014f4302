// Thorough: run by the merge check, or by name.
/** The guide on teams as two people work through it, each with a home of their own: its commands are run as they stand. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/guides/team.md'), 'utf8')
const blocks = [...guide.matchAll(/^```sh\n# (Ada|Bob)[^\n]*\n([^]*?)^```$/gm)].map(([, who, code]) => ({
  who: who as 'Ada' | 'Bob',
  commands: code!.trim().split('\n'),
}))

test('every command of the team guide works as described, for the owner and a member', async () => {
  await using server = await testServer()
  using home = temporaryDir('team-guide-')
  const homeOf = (who: string): string => join(home.path, who)
  for (const who of ['Ada', 'Bob']) mkdirSync(homeOf(who))
  let token = ''
  const uk = async (who: string, command: string): Promise<string> => {
    const env = {
      PATH: `${join(root, 'bin')}:${process.env.PATH}`,
      HOME: homeOf(who),
      TOKEN: token,
    }
    // Where a person would be asked for the password.
    const asked = /^uk (sign-up|admin|api-keys)/.test(command)
      ? `echo 'a long password' | ${command.replace('http://127.0.0.1:4242', server.origin)} --password-stdin`
      : command
    const { stdout, stderr } = await run('sh', ['-c', asked], { env, cwd: home.path })
    return stdout + stderr
  }
  await uk('Ada', `uk sign-up --origin ${server.origin} --email ada@example.com --name Ada`)
  const said = new Map<string, string>()
  for (const { who, commands } of blocks)
    for (const command of commands) {
      const answer = await uk(who, command)
      said.set(command, answer)
      token = /#token=([\w-]{43})/.exec(answer)?.[1] ?? token
    }
  const answerTo = (start: string): string => [...said].find(([command]) => command.startsWith(start))![1]
  assert.match(answerTo('uk invitations create'), /\/app\/invitations#token=[\w-]{43}/)
  assert.match(answerTo('uk members list'), /bob@example\.com/)
  assert.match(answerTo('uk ai-gateway'), /sim/)
  assert.match(answerTo('uk api-keys'), /uk_[0-9A-Za-z]{49}/)
  assert.match(answerTo('uk admin credit-requests'), /for the weekly report/)
  assert.match(answerTo('uk admin credits'), /5/)
  const left = await uk('Bob', 'uk workspaces list')
  assert.doesNotMatch(left, /Team/)
})
