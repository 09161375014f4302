import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ends } from '#test/computers/installed.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { specials } from './specials.ts'

const program = fileURLToPath(new URL('../../../../bin/uk', import.meta.url))
const server = await testServer()
after(() => server[Symbol.asyncDispose]())
const alice = await server.person('Alice')

const newToken = async (): Promise<string> => (await alice.post('/computer-pairings', {})).body.data.token
const uk = (home: string, words: string[], input = '') =>
  ends('sh', [program, ...words], { env: { PATH: process.env.PATH, HOME: home }, cwd: home }, input)

test('a token is read from stdin or a file', async () => {
  using home = temporaryDir()
  const state = join(home.path, '.config/ukiyo/computer.json')
  const pair = ['computer', 'pair', '--url', server.origin, '--allow', 'exec,fs_read', '--root', '/srv']
  for (const from of ['-', 'token']) {
    const token = await newToken()
    writeFileSync(join(home.path, 'token'), `${token}\n`)
    const paired = await uk(home.path, [...pair, '--token-file', from], from === '-' ? `${token}\n` : '')
    assert.equal(paired.code, 0, paired.output)
    assert.match(paired.output, /The server can use: exec, fs_read\. File access: \/srv\.\n/)
    assert.ok(!paired.output.includes(token))
    assert.deepEqual(JSON.parse(readFileSync(state, 'utf8')).allows, ['exec', 'fs_read'])
    rmSync(state)
  }
})

test('a token in the wrong place pairs nothing and is not repeated in errors', async () => {
  using home = temporaryDir()
  const token = await newToken()
  const pair = ['computer', 'pair', '--url', server.origin]
  for (const words of [
    [...pair, '--token-file', token],
    [...pair, '--token-file', `@${token}`],
    [...pair, '--token-file', '-', '--json'],
    [...pair, token],
    [...pair, `--${token}`],
    [...pair, '--allow', token],
    ['computer', 'pair', '--url', token],
    ['computer', 'pair', '--json', token],
    ['computer', token],
    [token],
    ['help', token],
  ]) {
    const { code, output: said } = await uk(home.path, words, `${token}twice\n${token}\n`)
    assert.notEqual(code, 0, words.join(' '))
    assert.ok(!said.includes(token.slice(4)), said)
  }
  assert.equal(existsSync(join(home.path, '.config/ukiyo/computer.json')), false)
  const { output: said } = await uk(home.path, [...pair, '--token-file', token])
  assert.match(said, /Can't read the file in --token-file \(ENOENT\)[^]*UK_PAIR_TOKEN/)
})

test('`uk computer` lists its commands and suggests the closest one for a typo', async () => {
  using home = temporaryDir()
  const commands = specials.filter(({ words }) => words[0] === 'computer').map(({ words }) => words[1]!)
  for (const [words, code] of [
    [['computer'], 2],
    [['help', 'computer'], 0],
    [['computer', '--help'], 0],
  ] as const) {
    const listed = await uk(home.path, [...words])
    assert.equal(listed.code, code)
    assert.deepEqual(
      [...listed.output.matchAll(/^ +computer ([a-z]+) /gm)].map(([, name]) => name),
      commands,
    )
  }
  const { code, output: said } = await uk(home.path, ['computer', 'exe', 'box'])
  assert.deepEqual([code, said], [2, 'uk: Unknown command "computer exe".\nDid you mean `computer exec`?\n'])
  assert.match((await uk(home.path, ['help', 'admin'])).output, /admin reset-password/)
})

test('help lists allowed values', async () => {
  using home = temporaryDir()
  for (const [command, example] of [
    ['exec', /\$ uk computer exec box -- \S/],
    ['exec', /\$ uk computer exec -d box -- \S/],
    ['cp', /\$ uk computer cp notes\.txt box:\n/],
    ['ssh', /\$ uk computer ssh box\n/],
  ] as const) {
    const { code, output: said } = await uk(home.path, ['computer', command, '--help'])
    assert.equal(code, 0)
    assert.match(said, example)
  }
})
