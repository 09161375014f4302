/** The README's quickstart, as it stands there: only the address is this test's, and the password comes from a pipe. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** The code blocks of a section, in order. */
function blocks(heading: string, language: string): string[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const section = readme.split(/^## /m).find((part) => part.startsWith(heading))
  assert.ok(section, `the README has a section ${heading}`)
  return [...section.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .filter(([, word]) => word === language)
    .map(([, , code]) => code!)
}

test('the quickstart returns the same answer by curl, uk, a streamed chat and two SDKs', async () => {
  await using server = await testServer()
  using home = temporaryDir('ukiyo-home-')
  const environment = { PATH: process.env.PATH, HOME: home.path, UK_ORIGIN: server.origin }
  const here = (code: string): string => code.replaceAll('http://127.0.0.1:4242', server.origin)

  const [sdkFolder, ...others] = blocks('First call', 'sh').filter((code) => code.includes('npm '))
  assert.deepEqual(others, [])
  const script = blocks('First call', 'sh')
    .filter((code) => code !== sdkFolder)
    .map(here)
    .join('\n')
    .replaceAll(/uk (sign-up|api-keys create)/g, `echo 'a long password' | uk $1 --password-stdin`)
  const { stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', `${script}\necho "key $UK_KEY"`], {
    cwd: root,
    env: environment,
  })
  // Three answers; the one over REST holds it twice, as `text` and as `content`.
  assert.equal(stdout.match(/Hello, floating world/g)?.length, 4, stdout + stderr)
  const key = /^key (uk_[0-9A-Za-z]{49})$/m.exec(stdout)?.[1]
  assert.ok(key, stdout)

  const work = blocks('Try more', 'sh').map(here).join('\n')
  const { stdout: told } = await run('bash', ['-euo', 'pipefail', '-c', work], {
    cwd: root,
    env: { ...environment, PATH: `${join(root, 'bin')}:${process.env.PATH}`, UK_KEY: key },
  })
  assert.match(told, /^Uploaded file "LICENSE" {2}http:\/\/\S+\/app\/drive\/file\/[0-9A-Z]{26}$/m, 'the file is kept')
  assert.match(told, /royalty-free, irrevocable/, 'and found in')
  assert.match(told, /^Created automation "Every morning" {2}http:\/\/\S+\/app\/automations\/[0-9A-Z]{26}$/m)
  const automations = await fetch(`${server.origin}/v1/automations`, { headers: { authorization: `Bearer ${key}` } })
  assert.match(await automations.text(), /"next_run_at":"2\d{3}-/, 'the automation knows when it fires')
  assert.match(told, /"provider":"sim"/, 'the router says who would answer')
  assert.match(told, /^calls\.total\.calls +3$/m, 'what was asked before is counted')

  // The packages come from those of the tests, in place of npm's registry, into the folder that the README creates.
  const folder = (
    await run('bash', ['-euo', 'pipefail', '-c', `npm() { :; }\n${sdkFolder}\npwd`], {
      cwd: root,
      env: { PATH: process.env.PATH, HOME: home.path },
    })
  ).stdout.trim()
  assert.ok(folder.startsWith(home.path), `${folder} is outside the project, whose next start removes other packages`)
  mkdirSync(join(folder, 'node_modules/@anthropic-ai'), { recursive: true })
  for (const name of sdkFolder!.match(/(?<=npm install ).*/)![0].split(' '))
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  const [javascript] = blocks('First call', 'js')
  writeFileSync(join(folder, 'first.mjs'), here(javascript!))
  const sdks = await run(process.execPath, ['first.mjs'], { cwd: folder, env: { ...environment, UK_KEY: key } })
  assert.equal(sdks.stdout, 'Hello, floating world\nHello, floating world\n')
})
