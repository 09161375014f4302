import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Typed } from './typed.ts'

/** Output for input typed key by key, and whether it detached. */
function typed(text: string, cuts: readonly number[] = [1]): [string, boolean] {
  const keys = new Typed()
  const bytes = Buffer.from(text)
  let out = ''
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = cuts[n % cuts.length]!
    const { send, detach } = keys.take(bytes.subarray(at, at + size))
    out += send.toString('utf8')
    if (detach) return [out, true]
    at += size
  }
  return [out, false]
}

test('a tilde and a dot after Enter detach; anywhere else they are typed', () => {
  assert.deepEqual(typed('ls\r~.'), ['ls\r', true])
  assert.deepEqual(typed('~.'), ['', true])
  assert.deepEqual(typed('cd ~.\r'), ['cd ~.\r', false])
  assert.deepEqual(typed('\r~~.'), ['\r~.', false])
  assert.deepEqual(typed('\r~x'), ['\r~x', false])
  assert.deepEqual(typed('\r~\r~.'), ['\r~\r', true])
})

test('typed text arrives unchanged however its bytes are split', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
      (text, cuts) => {
        const plain = `x${text.replaceAll('~', '-')}`
        assert.deepEqual(typed(plain, cuts), [plain, false])
      },
    ),
  )
})
