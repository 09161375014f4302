/** `npm run check`: types, lint, format and what nobody uses. Each tool's own output is shown; the first failure counts. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const checks: [string, string[]][] = [
  ['types', ['node_modules/typescript/bin/tsc']],
  ['types of the app', ['node_modules/typescript/bin/tsc', '-p', 'web']],
  ['lint', ['node_modules/oxlint/bin/oxlint', '--type-aware', 'src', 'test', 'bench', 'tools', 'web']],
  ['format', ['node_modules/oxfmt/bin/oxfmt', '--check', 'src', 'test', 'bench', 'tools', 'web']],
  ['unused', ['node_modules/knip/bin/knip.js', '--no-progress']],
]

let failed = false
for (const [name, [program, ...args]] of checks) {
  const { status } = spawnSync(process.execPath, [join(root, program!), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.stdout.write(`${status === 0 ? '✔' : '✖'} ${name}\n`)
  if (status !== 0) failed = true
}
process.exit(failed ? 1 : 0)
