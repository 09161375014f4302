import { test } from 'node:test'
import { playDrive } from '#test/drive/model.ts'
import { killUploads, writeAtOnce } from '#test/drive/trouble.ts'

test('100 writers × 1,000 compare-and-set attempts are serialized', { timeout: 1_800_000 }, () =>
  writeAtOnce({ writers: 100, attempts: 1_000 }),
)

test(
  '40 uploads cut at random bytes leave the old or the complete new file and no stray bytes',
  { timeout: 600_000 },
  () => killUploads({ rounds: 40, size: 8_000_000 }),
)

test('300 random drive histories match the model', { timeout: 1_800_000 }, () => playDrive({ runs: 300, steps: 60 }))
