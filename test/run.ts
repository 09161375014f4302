/**
 * `npm test`: types, lint and format, then every `*.test.ts` on one PostgreSQL of this run. Arguments narrow it to
 * files whose path holds one of them: `npm test -- accounts`. `--long` runs `*.long.ts` instead.
 */
import { spawn, spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestPostgres } from './database.ts'
import { keepFigures } from './long-figures.ts'

const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2)
const long = args.includes('--long')
const words = args.filter((arg) => !arg.startsWith('--'))

const files = globSync(
  ['src/**', 'test/**', 'bench/**', 'web/src/**'].map((folder) => `${folder}/*.${long ? 'long' : 'test'}.ts`),
  { cwd: root },
)
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()
if (files.length === 0) {
  process.stderr.write(`no test file holds ${words.join(' or ')} in its path\n`)
  process.exit(1)
}

if (words.length === 0 && !long) {
  const check = spawnSync(process.execPath, [join(root, 'test/check.ts')], { cwd: root, stdio: 'inherit' })
  if (check.status !== 0) process.exit(check.status ?? 1)
}

const figures = join(tmpdir(), `ukiyo-long-${process.pid}.jsonl`)
const { connection, stop } = await startTestPostgres()
const runner = spawn(
  process.execPath,
  [
    '--test',
    // What takes long wants the machine for itself.
    `--test-concurrency=${long ? 1 : 3}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    ...(long ? ['--test-reporter=./test/long-figures.ts', `--test-reporter-destination=${figures}`] : []),
    `--test-timeout=${long ? 3_600_000 : 180_000}`,
    ...files,
  ],
  {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, UKIYO_TEST_POSTGRES: JSON.stringify(connection) },
  },
)
let tail = ''
runner.stdout.on('data', (part: Buffer) => {
  process.stdout.write(part)
  tail = (tail + part.toString()).slice(-200_000)
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal))
const status = await new Promise<number>((resolve) => runner.on('close', (code) => resolve(code ?? 1)))
await stop()
if (long) {
  keepFigures(readFileSync(figures, 'utf8'))
  rmSync(figures)
}
const count = (word: string): number =>
  Number([...tail.matchAll(new RegExp(`^ℹ ${word} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0)
process.stdout.write(
  `\n${count('pass')} passed, ${count('fail') + count('cancelled')} failed, ${count('skipped')} skipped\n`,
)
process.exit(status)
