/** `npm run check`: types, lint, format, unused code and wording in parallel. Prints each tool's output when it ends. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** Results are cached until a file or its imports change. */
const types = (project: string): string[] => [
  'node_modules/typescript/bin/tsc',
  '-p',
  project,
  '--incremental',
  '--tsBuildInfoFile',
  `node_modules/.cache/types/${project === '.' ? 'server' : project}.tsbuildinfo`,
]
const checks: [string, string[]][] = [
  ['types', types('.')],
  ['types of the app', types('web')],
  ['lint', ['node_modules/oxlint/bin/oxlint', '--type-aware', 'src', 'test', 'bench', 'tools', 'web', 'packages']],
  ['format', ['node_modules/oxfmt/bin/oxfmt', '--check', 'src', 'test', 'bench', 'tools', 'web', 'packages']],
  ['unused', ['node_modules/knip/bin/knip.js', '--no-progress']],
  ['wording', ['test/wording/wording.ts']],
]

const results = await Promise.all(
  checks.map(async ([name, [program, ...args]]) => {
    const child = spawn(process.execPath, [join(root, program!), ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()))
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
    process.stdout.write(`${output}${code === 0 ? '✔' : '✖'} ${name}\n`)
    return code === 0
  }),
)
process.exit(results.every(Boolean) ? 0 : 1)
