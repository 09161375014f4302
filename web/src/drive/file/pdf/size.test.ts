import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LETTER, densityFor, nextZoom, sane, scaleFor, zoomOf } from './size.ts'

test('pages fit the available width, and oversized pages are clamped', () => {
  assert.equal(scaleFor(LETTER, 'width', 612), 1)
  assert.equal(zoomOf(scaleFor(LETTER, 1, 100)), 1)
  const mile = sane({ width: 612, height: 4_000_000 })
  assert.ok(mile.height * scaleFor(mile, 4, 900) <= 16_000)
  assert.deepEqual(sane({ width: Number.NaN, height: -3 }), { width: 1, height: 1 })
})

test('no page is rendered with more than eight million pixels on any screen density', () => {
  for (const shown of [LETTER, { width: 16_000, height: 16_000 }, { width: 16_000, height: 1 }])
    for (const screen of [1, 2, 4]) {
      const density = densityFor(shown, screen)
      assert.ok(density <= screen && shown.width * shown.height * density ** 2 <= (8 << 20) + 1)
    }
})

test('zooming moves to the next step, also from values in between, and stops at both ends', () => {
  assert.equal(nextZoom(1, 'in'), 1.25)
  assert.equal(nextZoom(1.1, 'out'), 1)
  assert.equal(nextZoom(4, 'in'), 4)
  assert.equal(nextZoom(0.5, 'out'), 0.5)
})
