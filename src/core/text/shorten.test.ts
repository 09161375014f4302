import assert from 'node:assert/strict'
import { test } from 'node:test'
import { characterStart, shorten, shortenBytes } from './shorten.ts'

const CHARACTERS = {
  letter: 'a',
  'letter with an accent': 'e\u0301',
  'Chinese letter': '请',
  emoji: '😀',
  'emoji with a skin tone': '👍🏽',
  family: '👨‍👩‍👧‍👦',
  flag: '🇩🇪',
  keycap: '1️⃣',
  syllable: '\u1112\u1161\u11ab',
  conjunct: '\u0915\u094d\u0937',
  'line break': '\r\n',
}

for (const [name, character] of Object.entries(CHARACTERS))
  test(`a ${name} at the cut is kept whole or dropped`, () => {
    for (const before of ['', 'x', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(200), '😀'.repeat(50), '🇫🇷'.repeat(101)])
      for (let inside = 0; inside <= character.length; inside++) {
        const text = `${before}${character} and more`
        const whole = inside === character.length ? before + character : before
        assert.equal(shorten(text, before.length + inside), whole, `${before.length} + ${inside}`)
        assert.equal(characterStart(text, before.length + inside), whole.length)
        const bytes = Buffer.byteLength(before + character.slice(0, inside).toWellFormed())
        const short = shortenBytes(text, bytes)
        assert.ok(text.startsWith(short) && Buffer.byteLength(short) <= bytes, `${bytes} bytes: ${short}`)
        assert.ok(short === before || inside === character.length || short === before + character, short)
      }
  })

test('text within the limit stays unchanged, and a limit of 0 returns nothing', () => {
  assert.equal(shorten('😀', 2), '😀')
  assert.equal(shortenBytes('😀', 4), '😀')
  assert.equal(shorten('😀', 0), '')
  assert.equal(shortenBytes('😀', 3), '')
  assert.equal(shortenBytes('\uFEFFab', 4), '\uFEFFa')
})

test('a letter under hundreds of accents is cut between code points', () => {
  assert.equal(shorten(`e${'\u0301'.repeat(900)}`, 300).length, 300)
  assert.equal(shorten(`e${'\u{1D167}'.repeat(900)}`, 300), `e${'\u{1D167}'.repeat(149)}`)
})
