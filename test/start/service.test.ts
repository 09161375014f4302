/** The units of docs/operating/install.md that make a service of the server, as they stand there. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import { temporaryDir } from '../program.ts'
import { units } from './units.ts'

const analyzes = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd accepts the units from the docs, with every setting in them', needs(analyzes, 'systemd-analyze'), () => {
  assert.deepEqual([...units.keys()], ['ukiyo.service', 'ukiyo-backup.service', 'ukiyo-backup.timer'])
  using dir = temporaryDir()
  for (const [name, text] of units) writeFileSync(join(dir.path, name), text)
  const verify = (): string => {
    const { stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', '--recursive-errors=no', ...[...units.keys()].map((name) => join(dir.path, name))],
      { encoding: 'utf8', env: { PATH: process.env.PATH } },
    )
    // Of this machine's own units it says what it likes.
    return (stdout + stderr)
      .split('\n')
      .filter((line) => line.includes('ukiyo'))
      .join('\n')
  }
  assert.equal(verify(), '')
  writeFileSync(join(dir.path, 'ukiyo.service'), units.get('ukiyo.service')!.replace('KillMode=', 'KilMode='))
  assert.match(verify(), /KilMode/)
  const calendar = /^OnCalendar=(.*)$/m.exec(units.get('ukiyo-backup.timer')!)![1]!
  assert.match(execFileSync('systemd-analyze', ['calendar', calendar], { encoding: 'utf8' }), /03:30:00/)
})
