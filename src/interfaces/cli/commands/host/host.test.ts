import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { program, ranBy, recorder } from '#test/cli/uk.ts'
import { temporaryDir } from '#test/program.ts'
import { helpOn } from '../../help.ts'

test('host commands name the data folder they use and how to change it', async () => {
  using away = temporaryDir()
  const env = { PATH: process.env.PATH!, HOME: away.path }
  const ranIn = (words: string[], more = {}) =>
    ranBy(spawn(program, words, { cwd: away.path, env: { ...env, ...more } }), 'a long password\n')
  const reset = ['admin', 'reset-password', 'ada@example.com', '--password-stdin']
  const data = join(realpathSync(away.path), 'data')
  for (const words of [['doctor'], ['backup'], reset]) {
    const { code, out, err } = await ranIn(words)
    assert.equal(code, 1, words.join(' '))
    const said = out + err
    assert.ok(said.includes(`${data} (UK_DATA_DIR, default ./data in the current folder)`), said)
    assert.match(said, /run this in the server's clone, or set UK_DATA_DIR to its data folder/)
  }
  for (const words of [['doctor'], ['backup'], ['restore'], ['admin', 'reset-password']])
    assert.match(
      await helpOn(words, recorder()),
      /UK_DATA_DIR \(default \.\/data in the current folder\)/,
      words.join(' '),
    )
  const named = join(away.path, 'elsewhere')
  const doctor = await ranIn(['doctor'], { UK_DATA_DIR: named })
  assert.ok(doctor.out.includes(`${named} (UK_DATA_DIR, default`), doctor.out)
})
