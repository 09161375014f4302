import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const NOW = String.raw`(?:performance|Date)\.now\(\)`
const READS =
  'isVisible|isHidden|isEnabled|isDisabled|isChecked|isEditable|count|innerText|textContent|inputValue|getAttribute|allInnerTexts|allTextContents'

/** Patterns that let a test pass by chance: docs/contributing/testing.md, "Flaky tests". */
const rules: { what: string; files?: RegExp; matches: (text: string) => string[] }[] = [
  {
    what: 'an upper bound on how long something took: count work, or move the measurement to bench/',
    matches(text) {
      const clockNames = [...text.matchAll(new RegExp(String.raw`\b(?:const|let) (\w+) = .*${NOW} - `, 'g'))].map(
        ([, name]) => name!,
      )
      const stopwatchNames = [...text.matchAll(/\bconst (\w+) = stopwatch\(\)/g)].map(([, name]) => `${name}\\(\\)`)
      const names = [
        ...clockNames.map((name) => String.raw`\b${name}\b`),
        ...stopwatchNames,
        String.raw`${NOW} - [\w.()[\]!]+`,
      ]
      return names.flatMap((name) => all(text, String.raw`assert\.ok\([^\n]*${name} <=? [\d_]+`))
    },
  },
  {
    what: 'a deadline of its own: wait with until or becomes of test/until.ts',
    matches: (text) => all(text, String.raw`\b\w+ = ${NOW} \+ [\d_]+(?:;|\n)`),
  },
  {
    what: 'a poll with a fixed number of tries: wait with until or becomes of test/until.ts',
    matches: (text) =>
      all(text, String.raw`for \(let (\w+) = 0; [^\n]*\1 < [\d_]+ && [^\n]*\n?[^\n]*(?:sleep|setTimeout)\(`),
  },
  {
    what: 'a time limit of its own: the common ones are PATIENCE_MS and TEST_MS of test/runner/crew.ts',
    matches: (text) =>
      all(text, String.raw`\btimeout: [\d_]+\b|setDefaultTimeout\([\d_]+\)|AbortSignal\.timeout\(\d+_000\)`),
  },
  {
    what: 'a page that is read once inside an assertion: wait with becomes',
    files: /^test\/web\//,
    matches: (text) => all(text, String.raw`assert\.\w+\(\s*\(?await [^\n]*\.(?:${READS})\([^\n]*\)`),
  },
]

/** With the reason why each can't fail by chance. */
const exceptions: Record<string, string> = {
  // Both sides use the server's clock: a slow machine makes no call earlier.
  'test/pipeline/revocation.test.ts': 'assert.ok(askedAt - cutAt < 6_000',
}

const all = (text: string, pattern: string): string[] =>
  [...text.matchAll(new RegExp(pattern, 'g'))].map(([match]) => match.trim())

const faultsOf = (file: string, text: string): string[] =>
  rules.flatMap(({ what, files, matches }) =>
    files && !files.test(file) ? [] : matches(text).map((match) => `${file}: ${match}\n  ${what}`),
  )

test('the rules detect their examples', () => {
  const faults = [
    'const begun = performance.now()\nassert.ok(performance.now() - begun < 5_000, `x`)',
    'const since = stopwatch()\nassert.ok(since() < 1_000)',
    'const ms = performance.now() - begun\nassert.ok(ms < 300)',
    'const took = Date.now() - begun\nassert.ok(took <= 300 && done)',
    'for (const until = Date.now() + 60_000; rows < 5 && Date.now() < until;)',
    'const end = performance.now() + 30_000\n',
    'for (let i = 0; i < 600 && left > 0; i++) await sleep(50)',
    'for (let i = 0; left > 0 && i < 600 && more; i++)\n    await new Promise((go) => setTimeout(go, 1))',
    "test('x', { timeout: 120_000 }, async () => {})",
    'page.setDefaultTimeout(20_000)',
    'const signal = AbortSignal.timeout(10_000)',
    "assert.equal(await page.getByText('x').count(), 0)",
    "assert.match((await row.getAttribute('title'))!, /x/)",
    "assert.equal(\n  await page.getByLabel('Words').inputValue(),\n  'x',\n)",
  ]
  for (const fault of faults) assert.equal(faultsOf('test/web/x.test.ts', fault).length, 1, fault)
  const right = [
    'assert.ok(performance.now() - begun > 3_000)',
    'const soon = new Date(Date.now() + 10_000).toISOString()',
    "await becomes(() => page.getByText('x').count(), 0)",
    'for (let i = 0; i < 5; i++) await sleep(20)',
    '{ timeout_ms: 6_000 }',
  ]
  for (const line of right) assert.deepEqual(faultsOf('test/web/x.test.ts', line), [])
})

test('no test asserts durations, waits by its own clock, or reads a page only once', () => {
  const files = globSync('{src,test,bench,tools,web/src}/**/*.test.ts', { cwd: root }).filter(
    (file) => !file.includes('node_modules') && file !== 'test/source/test-clocks.test.ts',
  )
  assert.ok(files.length > 500, `${files.length} test files were read`)
  const faults = files.flatMap((file) =>
    faultsOf(file, readFileSync(join(root, file), 'utf8')).filter(
      (fault) => !exceptions[file] || !fault.includes(exceptions[file]),
    ),
  )
  assert.deepEqual(faults, [])
})
