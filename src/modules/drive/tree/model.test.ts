// Thorough: run by the merge check, or by name.
import { test } from 'node:test'
import { playDrive } from '#test/drive/model.ts'

test('whatever is made, renamed, moved, trashed and restored, the tree is what a simple model says', () =>
  playDrive({ runs: 8, steps: 24 }))
