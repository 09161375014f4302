import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DriveFile } from '../../shared/drive/files.ts'
import { sortIn, sortWords, sorted } from './sort.ts'

const row = (name: string, size: number | null): DriveFile =>
  ({
    id: name,
    name,
    kind: size === null ? 'folder' : 'file',
    size_bytes: size,
    mime_type: null,
    content_updated_at: null,
    updated_at: name,
  }) as DriveFile

test('folders come first, names sort numerically, and orders can be reversed', () => {
  const rows = [row('file 10', 1), row('file 2', 5), row('B', null), row('a', null), row('File 1', 9)]
  const names = (order: string): string =>
    sorted(rows, sortIn(order))
      .map(({ name }) => name)
      .join()
  assert.equal(names('name'), 'a,B,File 1,file 2,file 10')
  assert.equal(names('-name'), 'B,a,file 10,file 2,File 1')
  assert.equal(names('-size'), 'a,B,File 1,file 2,file 10')
})

test('an unknown order falls back to name', () => {
  assert.deepEqual([sortIn('colour'), sortIn(3), sortIn('-size')].map(sortWords), ['name', 'name', '-size'])
})
