import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folderOf, trail, within } from './paths.ts'

test('paths are split into parts, also ones that aren’t UTF-8', () => {
  assert.deepEqual(
    trail('/home/ada').map(({ path }) => path),
    ['/', '/home', '/home/ada'],
  )
  assert.deepEqual(trail('/'), [{ name: '/', path: '/' }])
  assert.deepEqual(trail('file:///home/caf%E9').at(-1), { name: 'caf%E9', path: 'file:///home/caf%E9' })
  assert.equal(trail('file:///home/a%20b').at(-1)!.name, 'a b')
})

test('joining a name to a folder and taking its parent are inverse', () => {
  assert.equal(within('/', 'etc'), '/etc')
  assert.equal(within('/home/ada/', 'notes 1%.txt'), '/home/ada/notes 1%.txt')
  assert.equal(within('file:///home/caf%E9', 'a b'), 'file:///home/caf%E9/a%20b')
  assert.equal(folderOf('/home/ada/notes.txt'), '/home/ada')
  assert.equal(folderOf('/etc'), '/')
})
