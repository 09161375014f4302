import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { summaryOf } from './short-run.ts'

const root = join(import.meta.dirname, '../..')
const LAST_LINE = /^(\d+) passed, (\d+) failed, (\d+) skipped$/

/** Bodies of fixture files; each runs inside a test. `first` is true in the file's first run. */
const PASSES = ''
const FAILS = `throw new Error('always')`
const FAILS_ONCE = `if (first) throw new Error('only at first')`
const CRASHES_ONCE = `if (first) process.exit(7)`

interface Result {
  status: number
  output: string
  counts: { passed: number; failed: number; skipped: number }
  flaky: string[]
  starts: { name: string; pid: string }[]
}

const folders: string[] = []
test.after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

function run(args: string[]): Promise<{ status: number; output: string; errors: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [join(root, 'test/run.ts'), ...args], (error, output, errors) =>
      resolve({ status: error ? Number(error.code) : 0, output, errors }),
    ),
  )
}

async function runFixtures(bodies: Record<string, string>, options: string[]): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-runner-'))
  folders.push(folder)
  for (const [name, body] of Object.entries(bodies))
    writeFileSync(
      join(folder, `${name}.test.ts`),
      `import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
       import { test } from 'node:test'
       const mark = ${JSON.stringify(join(folder, name))}
       const first = !existsSync(mark)
       writeFileSync(mark, '')
       appendFileSync(${JSON.stringify(join(folder, 'starts'))}, \`${name} \${process.pid}\\n\`)
       test('passes beside it', () => {})
       test('fixture', () => { ${body} })`,
    )
  const { status, output, errors } = await run([`--folder=${folder}`, ...options])
  const last = LAST_LINE.exec(output.trimEnd().split('\n').at(-1)!)
  assert.ok(last, `the last line has the counts:\n${output}\n${errors}`)
  const [passed, failed, skipped] = last.slice(1).map(Number) as [number, number, number]
  const list = /^flaky:\n((?: {2}.*\n)+)/m.exec(output)?.[1] ?? ''
  return {
    status,
    output,
    counts: { passed, failed, skipped },
    flaky: [...list.matchAll(/(\w+)\.test\.ts/g)].map(([, name]) => name!),
    starts: readFileSync(join(folder, 'starts'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '))
      .map(([name, pid]) => ({ name: name!, pid: pid! })),
  }
}

test('a file that fails twice fails the run', async () => {
  const { status, counts, flaky, output } = await runFixtures({ good: PASSES, bad: FAILS }, ['--retry-failed'])
  assert.equal(status, 1)
  assert.deepEqual(counts, { passed: 3, failed: 1, skipped: 0 })
  assert.deepEqual(flaky, [])
  assert.match(output, /Error: always/)
})

test('a file that fails once passes and is listed as flaky', async () => {
  for (const body of [FAILS_ONCE, CRASHES_ONCE]) {
    const { status, counts, flaky, starts } = await runFixtures({ good: PASSES, shaky: body }, ['--retry-failed'])
    assert.equal(status, 0)
    assert.deepEqual(counts, { passed: 4, failed: 0, skipped: 0 })
    assert.deepEqual(flaky, ['shaky'])
    // The second run comes last, in a new process.
    assert.deepEqual(starts.map(({ name }) => name).toSorted(), ['good', 'shaky', 'shaky'])
    assert.equal(starts.at(-1)!.name, 'shaky')
    assert.ok(!starts.slice(0, -1).some(({ pid }) => pid === starts.at(-1)!.pid))
  }
})

test('a flaky file doesn’t hide one that fails twice', async () => {
  const { status, counts, flaky } = await runFixtures({ bad: FAILS, shaky: FAILS_ONCE }, ['--retry-failed'])
  assert.equal(status, 1)
  assert.deepEqual(counts, { passed: 3, failed: 1, skipped: 0 })
  assert.deepEqual(flaky, ['shaky'])
})

test('three flaky files pass, four fail the run', async () => {
  const three = { one: FAILS_ONCE, two: FAILS_ONCE, three: FAILS_ONCE }
  const allowedRun = await runFixtures(three, ['--retry-failed'])
  assert.equal(allowedRun.status, 0)
  assert.deepEqual(allowedRun.counts, { passed: 6, failed: 0, skipped: 0 })
  assert.deepEqual(allowedRun.flaky.toSorted(), ['one', 'three', 'two'])

  const refusedRun = await runFixtures({ ...three, four: FAILS_ONCE }, ['--retry-failed'])
  assert.equal(refusedRun.status, 1)
  assert.deepEqual(refusedRun.counts, { passed: 4, failed: 4, skipped: 0 })
  assert.deepEqual(refusedRun.flaky.toSorted(), ['four', 'one', 'three', 'two'])
})

test('without the option a file that fails once fails the run', async () => {
  const { status, counts, flaky, starts } = await runFixtures({ good: PASSES, shaky: FAILS_ONCE }, [])
  assert.equal(status, 1)
  assert.deepEqual(counts, { passed: 3, failed: 1, skipped: 0 })
  assert.deepEqual(flaky, [])
  assert.equal(starts.length, 2)
})

test('failed types, lint or format fail the run, and the last line keeps its format', () => {
  const counts = { passed: 5, failed: 0, skipped: 1 }
  assert.deepEqual(summaryOf(counts, true), { text: '\n5 passed, 0 failed, 1 skipped\n', status: 0 })
  const { text, status } = summaryOf(counts, false)
  assert.equal(status, 1)
  assert.match(text, /types, lint, format or unused code/)
  assert.match(text, /\n5 passed, 1 failed, 1 skipped\n$/)
})

test('--help shows the usage, and unknown options and words are errors; neither runs a test', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ukiyo-runner-'))
  folders.push(folder)
  writeFileSync(
    join(folder, 'one.test.ts'),
    `import { writeFileSync } from 'node:fs'
     writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '')`,
  )
  for (const flag of ['--help', '-h']) {
    const { status, output } = await run([`--folder=${folder}`, flag])
    assert.equal(status, 0)
    assert.match(output, /^Usage: npm test/)
  }
  for (const wrong of ['--retry', '--Long', '--retry-failed=3', '-x', '--folder=relative', 'no-such-name']) {
    const { status, errors } = await run([`--folder=${folder}`, wrong])
    assert.equal(status, 2, wrong)
    assert.match(errors, /--help/)
    assert.ok(errors.includes(wrong.replace(/^--folder=|=3$/, '')), errors)
  }
  assert.equal((await run(['--long', '--retry-failed'])).status, 2)
  assert.ok(!existsSync(join(folder, 'ran')))
})

test('the merge check retries failed files, npm test doesn’t', () => {
  const ci = readFileSync(join(root, '.ci/run'), 'utf8')
  assert.match(ci, /^export UK_TEST_ALL=1$/m)
  assert.match(ci, /\nnpm test -- --retry-failed\n$/)
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { test: string } }
  assert.equal(scripts.test, 'sh bin/run test/run.ts')
})
