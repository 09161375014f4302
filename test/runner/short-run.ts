import { runAlone, runFiles } from './crew.ts'
import type { Outcome } from './worker.ts'

/** More flaky files fail the run: with so many, a product fault looks like chance. */
const MAX_FLAKY = 3
/** With more failures, something general is broken, and retries would only take time. */
const MAX_RETRIED = 10

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

export async function runShort(
  files: readonly string[],
  environment: Record<string, string>,
  retryAfter?: Promise<unknown>,
): Promise<{ outcomes: Outcome[]; counts: Counts }> {
  const first: Outcome[] = []
  await runFiles(files, environment, (outcome) => {
    first.push(outcome)
    print(outcome)
  })
  const failures = first.filter(isFailed)
  const second = new Map<string, Outcome>()
  if (retryAfter && failures.length > MAX_RETRIED)
    process.stdout.write(`\n${failures.length} files failed; no second run with more than ${MAX_RETRIED}\n`)
  else if (retryAfter && failures.length > 0) {
    await retryAfter
    process.stdout.write(`\nsecond run of failed files, each alone:\n`)
    for (const { file } of failures) {
      const outcome = await runAlone(file, environment)
      second.set(file, outcome)
      print(outcome)
    }
  }
  const flaky = failures.filter(({ file }) => second.has(file) && !isFailed(second.get(file)!))
  const isTolerated = flaky.length <= MAX_FLAKY
  const outcomes = first.map((outcome) => (isTolerated ? (second.get(outcome.file) ?? outcome) : outcome))
  // Repeats failures at the end. Only a flaky file's first run has a reason.
  for (const outcome of failures) process.stdout.write(`\n✖ ${outcome.file}\n${partsOf(outcome).failures}\n`)
  if (flaky.length > 0) process.stdout.write(`\nflaky:\n${flaky.map(({ file }) => `  ${file}\n`).join('')}`)
  if (!isTolerated)
    process.stdout.write(
      `\n${flaky.length} flaky files fail the run, as at most ${MAX_FLAKY} are accepted; their first runs count\n`,
    )
  const sum = (count: (outcome: Outcome) => number): number => outcomes.reduce((all, one) => all + count(one), 0)
  const counts = {
    passed: sum((one) => one.passed),
    failed: sum((one) => one.failed),
    skipped: sum((one) => one.skipped),
  }
  return { outcomes, counts }
}

/** Tools parse the last line: its format is fixed, and its failure count is 0 only in a green run. */
export function summaryOf({ passed, failed, skipped }: Counts, checksPassed: boolean): { text: string; status: 0 | 1 } {
  const failures = failed + Number(!checksPassed)
  const checks = checksPassed ? '' : '\n✖ types, lint, format or unused code, counted as one failure (see above)\n'
  return {
    text: `${checks}\n${passed} passed, ${failures} failed, ${skipped} skipped\n`,
    status: failures === 0 ? 0 : 1,
  }
}

const isFailed = ({ failed }: Outcome): boolean => failed > 0

function print(outcome: Outcome): void {
  const { lines, failures } = partsOf(outcome)
  const [mark, more] = isFailed(outcome) ? ['✖', `${failures}\n`] : ['✔', '']
  process.stdout.write(
    `${mark} ${outcome.file} (${outcome.seconds.toFixed(1)} s, ${outcome.processor.toFixed(1)} of processor)\n${lines}\n${more}`,
  )
}

function partsOf({ text }: Outcome): { lines: string; failures: string } {
  const [lines = '', counts = ''] = text.split(/^ℹ tests \d+\n/m)
  return { lines: lines.trimEnd().replace(/^/gm, '  '), failures: counts.replace(/^ℹ .*\n/gm, '').trim() || lines }
}
