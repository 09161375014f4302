import { parseArgs } from 'node:util'

export interface Options {
  /** Path filters; all files if empty. */
  words: string[]
  help: boolean
  long: boolean
  noteTimes: boolean
  retryFailed: boolean
  /** An absolute path whose test files run instead of the project's. */
  folder: string | undefined
}

export const USAGE = `Usage: npm test -- [OPTION]… [WORD]…

Runs the *.test.ts files, and types, lint, format and unused code beside them.
With words, it runs only the files whose path contains one of them, without the other checks: npm test -- chats

Files that start with "// Thorough" run only with UK_TEST_ALL=1 or when a word selects them.

  --retry-failed   run each failed file once more, alone, after all others. Files that pass then are listed
                   under "flaky:"; more than three of them fail the run. .ci/run uses this.
  --long           run the *.long.ts files instead, one at a time (npm run test:long)
  --note-times     write each file's duration to test/runner/times.json, which orders later runs
  --folder=PATH    run the test files of another folder, without the other checks
  --help           show this text

The last line is "N passed, M failed, K skipped". The exit status is 0 when nothing failed.
`

const FLAGS = {
  help: { type: 'boolean', short: 'h', default: false },
  long: { type: 'boolean', default: false },
  'note-times': { type: 'boolean', default: false },
  'retry-failed': { type: 'boolean', default: false },
  folder: { type: 'string' },
} as const

export function readOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({ args, options: FLAGS, allowPositionals: true, strict: true })
  if (values.long && values['retry-failed'])
    throw new Error('--long and --retry-failed cannot be combined. Drop one of them.')
  if (values.folder !== undefined && !values.folder.startsWith('/'))
    throw new Error(`--folder must be an absolute path, not "${values.folder}".`)
  return {
    words: positionals,
    help: values.help,
    long: values.long,
    noteTimes: values['note-times'],
    retryFailed: values['retry-failed'],
    folder: values.folder,
  }
}
