import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Command, fits, fitting } from './commands.ts'

const command = (label: string, also = ''): Command => ({ id: label, label, also, icon: 'plus', run: () => {} })

test('commands match by word prefixes in any order, ignoring accents, and by their keywords', () => {
  assert.equal(fits(command('New chat'), 'new'), 4)
  assert.equal(fits(command('New chat'), 'chat new'), 3)
  assert.equal(fits(command('Café'), 'cafe'), 4)
  assert.equal(fits(command('Dark theme', 'night appearance'), 'nig'), 3)
  assert.equal(fits(command('New chat'), 'hat'), 1)
  assert.equal(fits(command('New chat'), 'chat key'), 0)
})

test('the best matches come first, up to the limit', () => {
  const all = ['Share with me', 'Archived chats', 'Chats'].map((label) => command(label))
  assert.deepEqual(
    fitting(all, 'ch', 5).map(({ label }) => label),
    ['Chats', 'Archived chats'],
  )
  assert.equal(fitting(all, '', 2).length, 2)
})
