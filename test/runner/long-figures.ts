/**
 * Stores the results of `npm run test:long`: raw in `test/long-runs.json`, as a table in `docs/long-runs.md`. As a
 * node:test reporter (`--test-reporter`), prints a JSON line per test.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

const root = join(import.meta.dirname, '../..')
const raw = join(root, 'test/long-runs.json')
const page = join(root, 'docs/long-runs.md')

interface LongRun {
  file: string
  title: string
  passed: boolean
  seconds: number
  day: string
  figures: string[]
}

export default async function* longFigures(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let last: LongRun | null = null
  for await (const { type, data } of source) {
    if (type === 'test:pass' || type === 'test:fail') {
      if (last) yield `${JSON.stringify(last)}\n`
      last =
        data.nesting === 0 && data.file !== undefined && data.skip === undefined
          ? {
              file: relative(root, data.file),
              title: data.name,
              passed: type === 'test:pass',
              seconds: Math.round(data.details.duration_ms / 1000),
              day: new Date().toISOString().slice(0, 10),
              figures: [],
            }
          : null
    }
    // A test's diagnostics follow it; the runner's final ones have no file.
    if (type === 'test:diagnostic' && data.file !== undefined && last && relative(root, data.file) === last.file)
      last.figures.push(data.message)
  }
  if (last) yield `${JSON.stringify(last)}\n`
}

/** Sequentially in separate processes, because long tests need the whole machine. */
export async function runLong(
  files: readonly string[],
  environment: Record<string, string>,
): Promise<{ passed: number; failed: number; skipped: number }> {
  const figures = join(tmpdir(), `ukiyo-long-${process.pid}.jsonl`)
  const runner = spawn(
    process.execPath,
    [
      '--test',
      '--test-concurrency=1',
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=./test/runner/long-figures.ts',
      `--test-reporter-destination=${figures}`,
      '--test-timeout=3600000',
      ...files,
    ],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...environment } },
  )
  let tail = ''
  runner.stdout.on('data', (part: Buffer) => {
    process.stdout.write(part)
    tail = (tail + part.toString()).slice(-200_000)
  })
  const stop = (signal: NodeJS.Signals) => runner.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  const status = await new Promise<number>((resolve) => runner.on('close', (code) => resolve(code ?? 1)))
  keepFigures(readFileSync(figures, 'utf8'))
  rmSync(figures)
  const count = (word: string): number =>
    Number([...tail.matchAll(new RegExp(`^ℹ ${word} (\\d+)$`, 'gm'))].at(-1)?.[1] ?? 0)
  const failed = count('fail') + count('cancelled')
  return { passed: count('pass'), failed: failed || Number(status !== 0), skipped: count('skipped') }
}

function keepFigures(lines: string): void {
  const fresh = lines
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LongRun)
  const savedRuns = existsSync(raw) ? (JSON.parse(readFileSync(raw, 'utf8')) as LongRun[]) : []
  const files = new Set(fresh.map(({ file }) => file))
  const titles = new Set(fresh.map(({ file, title }) => `${file} ${title}`))
  const otherRuns = savedRuns.filter(
    ({ file, title }) => !titles.has(`${file} ${title}`) && (!files.has(file) || existsSync(join(root, file))),
  )
  const runs = [...otherRuns, ...fresh].sort((a, b) => (a.file === b.file ? 0 : a.file < b.file ? -1 : 1))
  writeFileSync(raw, `${JSON.stringify(runs, null, 1)}\n`)
  writeFileSync(page, pageOf(runs))
}

const pageOf = (runs: readonly LongRun[]): string => `# Long test runs

\`npm run test:long\` runs tests that take too long for every change: races, crashes at every write, months of schedules, random
histories. Add a word to run some of them: \`npm run test:long -- drive\`. The command writes this page from the tests' own figures
(\`test/long-runs.json\`).

| test | time | result | date |
|---|--:|---|---|
${runs.map((run) => `| ${run.title} | ${run.seconds} s | ${run.passed ? ['passed', ...describeFigures(run.figures)].join('; ') : '**failed**'} | ${run.day} |`).join('\n')}
`

const describeFigures = (figures: readonly string[]): string[] =>
  figures.map((text) => (text.startsWith('{') ? fields(JSON.parse(text) as object) : text))

const fields = (figures: object): string =>
  Object.entries(figures)
    .map(([name, value]) => `${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${format(value)}`)
    .join(', ')

const format = (value: unknown): string =>
  typeof value === 'number'
    ? value.toLocaleString('en', { maximumFractionDigits: 1 })
    : Array.isArray(value)
      ? value.map(format).join(' ')
      : typeof value === 'object' && value !== null
        ? `(${fields(value)})`
        : String(value)
