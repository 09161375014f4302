import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { temporaryDir } from '../program.ts'

/** A clone with `bin/run` and a program that greets; `npm` notes each of its runs and takes a moment. */
function clone(npm: string) {
  const dir = temporaryDir('ukiyo-clone-', tmpdir())
  const at = (path: string): string => join(dir.path, path)
  mkdirSync(at('bin'))
  mkdirSync(at('tools'))
  copyFileSync(join(import.meta.dirname, '../../bin/run'), at('bin/run'))
  writeFileSync(at('package-lock.json'), '{}')
  writeFileSync(at('hello.mjs'), 'console.log("hello")')
  writeFileSync(at('tools/npm'), `#!/bin/sh\necho "$$" >>"${at('npm.log')}"\n${npm}\n`)
  chmodSync(at('tools/npm'), 0o755)
  return {
    at,
    run() {
      const PATH = `${at('tools')}:${dirname(process.execPath)}:${process.env.PATH}`
      const child = spawn('sh', [at('bin/run'), 'hello.mjs'], {
        cwd: dir.path,
        env: { PATH },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      return {
        child,
        ended: Promise.all([text(child.stdout), once(child, 'exit')]).then(([said, [code]]) => ({ said, code })),
      }
    },
    installs: () => readFileSync(at('npm.log'), 'utf8').trim().split('\n').length,
    [Symbol.dispose]: () => dir[Symbol.dispose](),
  }
}

test('two simultaneous first starts install once, and both run', async () => {
  using fresh = clone('sleep 0.3; mkdir -p node_modules')
  const both = await Promise.all([fresh.run().ended, fresh.run().ended])
  assert.deepEqual(both, [
    { said: 'hello\n', code: 0 },
    { said: 'hello\n', code: 0 },
  ])
  assert.equal(fresh.installs(), 1)
  assert.equal(existsSync(fresh.at('node_modules.lock')), false)
})

test('a lock left by a killed installation blocks no later start', async () => {
  using fresh = clone('mkdir -p node_modules')
  const gone = spawn('true')
  await once(gone, 'exit')
  symlinkSync(String(gone.pid), fresh.at('node_modules.lock'))
  assert.deepEqual(await fresh.run().ended, { said: 'hello\n', code: 0 })
})

test('stopping a start during installation takes effect immediately, and the next start installs again', async () => {
  using fresh = clone('[ -e again ] || { touch again; exec sleep 60; }; mkdir -p node_modules')
  const first = fresh.run()
  while (!existsSync(fresh.at('again'))) await new Promise((resolve) => setTimeout(resolve, 20))
  first.child.kill('SIGTERM')
  assert.equal((await first.ended).code, 143)
  assert.equal(existsSync(fresh.at('node_modules.lock')), false)
  assert.deepEqual(await fresh.run().ended, { said: 'hello\n', code: 0 })
})

test('a start in a read-only clone reports what is missing and doesn’t retry forever', async () => {
  using fresh = clone('exit 1')
  chmodSync(fresh.at('.'), 0o555)
  // Root may write everywhere: so as nobody in particular.
  const as = process.getuid?.() === 0 ? ['setpriv', '--reuid', '65534', '--clear-groups'] : []
  const [program, ...words] = [...as, 'sh', fresh.at('bin/run'), 'hello.mjs']
  const child = spawn(program, words, { env: { PATH: process.env.PATH }, stdio: ['ignore', 'ignore', 'pipe'] })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  chmodSync(fresh.at('.'), 0o755)
  assert.equal(code, 1)
  assert.match(said, /isn't writable: run "npm run build" there/)
})
