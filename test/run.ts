/**
 * `npm test`: types, lint, and format in parallel with `*.test.ts`, on one PostgreSQL. Options are in
 * `test/runner/options.ts`; see `npm test -- --help`.
 */
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildApp } from '#interfaces/app/build.ts'
import { startTestPostgres } from './database.ts'
import { runLong } from './runner/long-figures.ts'
import { type Options, readOptions, USAGE } from './runner/options.ts'
import { type Counts, runShort, summaryOf } from './runner/short-run.ts'
import { noteTimes } from './runner/times.ts'

const root = join(import.meta.dirname, '..')
const { words, long, folder, ...options } = optionsOrExit()
const matches = filesOrExit()
// Only a full run checks types, lint, format, and unused code, and skips slow tests.
const all = !long && words.length === 0 && folder === undefined
const thorough = (file: string): boolean => readFileSync(resolve(root, file), 'utf8').startsWith('// Thorough')
const files = all && process.env.UK_TEST_ALL !== '1' ? matches.filter((file) => !thorough(file)) : matches

// The checks need neither database nor app, and both leave a CPU idle in a fresh clone.
const checking = all ? check() : Promise.resolve(true)
// In a fresh clone, every test server would otherwise start to build the app and be stopped first.
const [{ environment, stop }] = await Promise.all([database(), all && buildApp(tmpdir())])
const [counts, checksPassed] = await Promise.all([long ? runLong(files, environment) : run(), checking])
await stop()
if (files.length < matches.length)
  process.stdout.write(
    `\n${matches.length - files.length} thorough files did not run: UK_TEST_ALL=1 npm test, or npm test -- NAME\n`,
  )
const { text, status } = summaryOf(counts, checksPassed)
process.stdout.write(text)
process.exit(status)

async function run(): Promise<Counts> {
  // Workers end with this process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().finally(() => process.exit(1)))
  const result = await runShort(files, environment, options.retryFailed ? checking : undefined)
  if (options.noteTimes) noteTimes(result.outcomes)
  return result.counts
}

function optionsOrExit(): Options {
  try {
    const options = readOptions(process.argv.slice(2))
    if (!options.help) return options
    process.stdout.write(USAGE)
    process.exit(0)
  } catch (error) {
    return exit((error as Error).message)
  }
}

function filesOrExit(): string[] {
  const name = `*.${long ? 'long' : 'test'}.ts`
  const folders = folder === undefined ? ['src', 'packages', 'test', 'bench', 'tools', 'web/src'] : [folder]
  const every = globSync(
    folders.map((each) => `${each}/**/${name}`),
    { cwd: root },
  ).filter((file) => !file.includes('node_modules'))
  const unmatchedWords = words.filter((word) => !every.some((file) => file.includes(word)))
  if (unmatchedWords.length > 0) exit(`No ${name} file has "${unmatchedWords.join('" or "')}" in its path.`)
  if (every.length === 0) exit(`There is no ${name} file in ${folders.join(', ')}.`)
  return every.filter((file) => words.length === 0 || words.some((word) => file.includes(word))).sort()
}

function exit(message: string): never {
  process.stderr.write(`${message}\nnpm test -- --help lists the options.\n`)
  process.exit(2)
}

async function database(): Promise<{ environment: Record<string, string>; stop: () => Promise<void> }> {
  if (process.env.UKIYO_TEST_POSTGRES !== undefined) return { environment: {}, stop: async () => {} }
  const { connection, stop: end } = await startTestPostgres()
  return { environment: { UKIYO_TEST_POSTGRES: JSON.stringify(connection) }, stop: end }
}

async function check(): Promise<boolean> {
  const child = spawn(process.execPath, [join(root, 'test/check.ts')], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()))
  const code = await new Promise<number | null>((done) => child.on('close', done))
  process.stdout.write(output)
  return code === 0
}
