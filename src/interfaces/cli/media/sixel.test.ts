import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sixel } from './sixel.ts'

/** Decodes sixels like a terminal: `#n` selects a color, `!n` repeats, `$` returns, `-` moves down. */
function drawn(text: string): { width: number; height: number; rgb: Buffer } {
  const [, across, down, body = ''] = /^P0;1q"1;1;(\d+);(\d+)([^]*)$/.exec(text.slice(1, -2)) ?? []
  const [width, height] = [Number(across), Number(down)]
  const rgb = Buffer.alloc(width * height * 3)
  const colours = new Map<number, number[]>()
  let [x, top, colour, times] = [0, 0, 0, 1]
  for (const [word] of body.matchAll(/#\d+(;2;[\d.;]+)?|!\d+|[$-]|[?-~]/g)) {
    if (word.startsWith('#')) {
      const [name = 0, , ...shares] = word.slice(1).split(';').map(Number)
      if (shares.length > 0) colours.set(name, shares)
      colour = name
    } else if (word.startsWith('!')) times = Number(word.slice(1))
    else if (word === '$' || word === '-') {
      x = 0
      if (word === '-') top += 6
    } else {
      for (; times > 0; times--, x++)
        for (let bit = 0; bit < 6; bit++)
          if ((word.charCodeAt(0) - 63) & (1 << bit))
            rgb.set(
              colours.get(colour)!.map((share) => Math.round(share * 2.55)),
              ((top + bit) * width + x) * 3,
            )
      times = 1
    }
  }
  return { width, height, rgb }
}

test('sixels reproduce the image in 216 colors', () => {
  const [width, height] = [13, 8]
  const rgb = Buffer.alloc(width * height * 3)
  const levels = [0, 51, 102, 153, 204, 255]
  for (let n = 0; n < rgb.length; n++) rgb[n] = levels[(n * 7 + (n >> 3)) % 6]!
  rgb.fill(255, 0, width * 3)
  const again = drawn(sixel(rgb, width, height))
  assert.deepEqual([again.width, again.height], [width, height])
  assert.deepEqual(again.rgb, rgb)
})
