/**
 * `npm test`: types, lint and format beside the `*.test.ts`, all on one PostgreSQL of this run. Files whose first line says
 * `// Thorough` run with `UK_TEST_ALL=1`, as the merge check sets it, or when they are named. Arguments narrow it to files
 * whose path holds one of them: `npm test -- accounts`. `--long` runs `*.long.ts` instead; `--note-times` writes down how
 * long each file took, by which later runs are ordered.
 */
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '#faces/app/build.ts'
import { startTestPostgres } from './database.ts'
import { runLong } from './runner/long-figures.ts'
import { runFiles } from './runner/crew.ts'
import { noteTimes } from './runner/times.ts'
import type { Outcome } from './runner/worker.ts'

const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2)
const long = args.includes('--long')
const words = args.filter((arg) => !arg.startsWith('--'))

const found = globSync(
  ['src/**', 'test/**', 'bench/**', 'tools/**', 'web/src/**'].map(
    (folder) => `${folder}/*.${long ? 'long' : 'test'}.ts`,
  ),
  { cwd: root },
)
  .filter((file) => !file.includes('node_modules'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()
if (found.length === 0) {
  process.stderr.write(`no test file holds ${words.join(' or ')} in its path\n`)
  process.exit(1)
}

const all = !long && words.length === 0
const thorough = (file: string): boolean => readFileSync(join(root, file), 'utf8').startsWith('// Thorough')
const files = all && process.env.UK_TEST_ALL !== '1' ? found.filter((file) => !thorough(file)) : found
// The tools need neither database nor app, and in a fresh clone both of those leave a processor idle.
const checking = all ? check() : true
// In a fresh clone every server that a test starts would begin to build the app, and stop before it is there.
const [{ connection, stop }] = await Promise.all([startTestPostgres(), all && buildApp(tmpdir())])
const environment = { UKIYO_TEST_POSTGRES: JSON.stringify(connection) }
const [{ passed, failed, skipped }, checked] = await Promise.all([
  long ? runLong(files, environment) : runShort(),
  checking,
])
await stop()
if (files.length < found.length)
  process.stdout.write(
    `\n${found.length - files.length} thorough files did not run: UK_TEST_ALL=1 npm test, or npm test -- NAME\n`,
  )
process.stdout.write(
  `\n${passed} passed, ${failed} failed, ${skipped} skipped${checked ? '' : '; types, lint, format or unused code failed'}\n`,
)
process.exit(failed === 0 && checked ? 0 : 1)

async function runShort(): Promise<{ passed: number; failed: number; skipped: number }> {
  // The workers end by themselves when nobody is there to tell.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().finally(() => process.exit(1)))
  const outcomes: Outcome[] = []
  await runFiles(files, environment, (outcome) => {
    outcomes.push(outcome)
    const [lines, failures] = told(outcome)
    const [mark, more] = outcome.failed ? ['✖', `${failures}\n`] : ['✔', '']
    process.stdout.write(
      `${mark} ${outcome.file} (${outcome.seconds.toFixed(1)} s, ${outcome.processor.toFixed(1)} of processor)\n${lines}\n${more}`,
    )
  })
  if (args.includes('--note-times')) noteTimes(outcomes)
  // The failures are said once more where the eye is.
  for (const outcome of outcomes.filter(({ failed }) => failed > 0))
    process.stdout.write(`\n✖ ${outcome.file}\n${told(outcome)[1]}\n`)
  const sum = (count: (outcome: Outcome) => number): number => outcomes.reduce((all, one) => all + count(one), 0)
  return { passed: sum((one) => one.passed), failed: sum((one) => one.failed), skipped: sum((one) => one.skipped) }
}

/** The lines of the tests, indented, and why some failed; the counts between them are summed up for all. */
function told({ text }: Outcome): [lines: string, failures: string] {
  const [lines = '', counts = ''] = text.split(/^ℹ tests \d+\n/m)
  return [lines.trimEnd().replace(/^/gm, '  '), counts.replace(/^ℹ .*\n/gm, '').trim() || lines]
}

/** Beside the tests; what the tools say is shown when all have ended. */
async function check(): Promise<boolean> {
  const child = spawn(process.execPath, [join(root, 'test/check.ts')], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += part.toString()))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  process.stdout.write(said)
  return code === 0
}
