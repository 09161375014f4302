/** `npm run check`: types, lint, format and what nobody uses, all at once. Each tool's own output is shown as it ends. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const checks: [string, string[]][] = [
  ['types', ['node_modules/typescript/bin/tsc']],
  ['types of the app', ['node_modules/typescript/bin/tsc', '-p', 'web']],
  ['lint', ['node_modules/oxlint/bin/oxlint', '--type-aware', 'src', 'test', 'bench', 'tools', 'web']],
  ['format', ['node_modules/oxfmt/bin/oxfmt', '--check', 'src', 'test', 'bench', 'tools', 'web']],
  ['unused', ['node_modules/knip/bin/knip.js', '--no-progress']],
]

const passed = await Promise.all(
  checks.map(async ([name, [program, ...args]]) => {
    const child = spawn(process.execPath, [join(root, program!), ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += part.toString()))
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    process.stdout.write(`${said}${code === 0 ? '✔' : '✖'} ${name}\n`)
    return code === 0
  }),
)
process.exit(passed.every(Boolean) ? 0 : 1)
