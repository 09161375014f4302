// Thorough: run by the merge check, or by name.
import { test } from 'node:test'
import { playDrive } from '#test/drive/model.ts'

test('after any sequence of creates, renames, moves, trashing and restores the tree equals a simple model', () =>
  playDrive({ runs: 8, steps: 24 }))
