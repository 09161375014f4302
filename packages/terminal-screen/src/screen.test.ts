import assert from 'node:assert/strict'
import { test } from 'node:test'
import headless from '@xterm/headless'
import fc from 'fast-check'
import { coreOf, guardErase, newCell, resize, type ScreenBuffer } from './internals.ts'
import { LINES_ABOVE, Screen } from './screen.ts'

const COLS = 40
const ROWS = 10

type Terminal = InstanceType<typeof headless.Terminal>
function terminal(cols = COLS, rows = ROWS): Terminal {
  const made = new headless.Terminal({ cols, rows, scrollback: LINES_ABOVE, allowProposedApi: true, logLevel: 'off' })
  guardErase(made)
  return made
}
const feed = (to: Terminal, bytes: Uint8Array | string): void =>
  coreOf(to)._inputHandler.parse(typeof bytes === 'string' ? Buffer.from(bytes) : bytes)

/** Attributes without unused bits left by an earlier color. */
const shown = (word: number): number => {
  const mode = word & 0x3000000
  return (mode === 0x3000000 ? word : word & (mode === 0 ? ~0x3ffffff : ~0xffff00)) >>> 0
}

/** All visible cells of a terminal, and its modes. */
function seen(of: Terminal): unknown {
  const core = coreOf(of)
  const cell = newCell(of)
  const lines = (buffer: ScreenBuffer): string[] =>
    Array.from({ length: buffer.lines.length }, (_, y) => {
      const line = buffer.lines.get(y)!
      const cells = Array.from({ length: of.cols }, (_, x) => {
        line.loadCell(x, cell)
        const extended = (cell.bg >> 28) & 1 ? cell.extended : undefined
        const link = extended?.urlId ? core._oscLinkService.getLinkData(extended.urlId)?.uri : ''
        // xterm.js loses the underline style restored by DECRC.
        const style = ((extended?._ext ?? 0) >> 26) & 7 || 1
        const underline = (cell.fg >> 28) & 1 ? `${style},${(extended?._ext ?? 0) & 0x3ffffff}` : ''
        return `${cell.getChars()}|${cell.getWidth()}|${shown(cell.fg)}|${shown(cell.bg & ~(1 << 28))}|${underline}|${link}`
      })
      return `${cells.join(' ')}${line.isWrapped ? ' wrapped' : ''}`
    })
  const { active, normal, alt } = core.buffers
  return {
    normal: lines(normal),
    alternate: active === alt ? lines(alt) : null,
    cursor: [active.x, active.y],
    region: [active.scrollTop, active.scrollBottom],
    modes: of.modes,
    hidden: core.coreService.isCursorHidden,
    style: [core.coreService.decPrivateModes.cursorStyle, core.coreService.decPrivateModes.cursorBlink],
    mouse: [core.coreMouseService.activeProtocol, core.coreMouseService.activeEncoding],
    title: core._inputHandler._windowTitle,
  }
}

type Part = Buffer | { cols: number; rows: number }
const take = (to: Terminal, part: Part): void => {
  if (Buffer.isBuffer(part)) feed(to, part)
  else resize(to, part.cols, part.rows)
}

/** A terminal that got a snapshot after `stream`, and one that read the whole stream. */
async function both(stream: Part[]): Promise<[whole: Terminal, joined: Terminal]> {
  const screen = new Screen({ cols: COLS, rows: ROWS }, 0)
  const whole = terminal()
  for (const part of stream) {
    if (Buffer.isBuffer(part)) screen.write(part)
    else screen.resize(part.cols, part.rows)
    take(whole, part)
  }
  await screen.parsed()
  const joined = terminal(whole.cols, whole.rows)
  feed(joined, screen.snapshot())
  screen.dispose()
  return [whole, joined]
}

/** A kilobyte of typical output, which reveals state that isn't in cells. */
const more =
  `Z\x1b[1;1HQ\tT\r\n${'lorem ipsum dolor '.repeat(8)}\x1b8R\x1b[7;1H\n\n\nqqq\x1b[K` +
  `\x1b[2;3HB\x1bM\x1bM\x1b[L\x1b[5P\x1b[mplain\x1b[?1049lback\x1b[9;39Hwide 日本\x1b[3Sx\x0eq\x0fq\x1b[2Jend${'.'.repeat(600)}`

const states: Record<string, string> = {
  text: 'hello\r\n\x1b[31mred\x1b[0m',
  sgr: '\x1b[1;3;4;7;9mstyled\x1b[0m \x1b[38;2;1;2;3mtc',
  'pending sgr': '\x1b[1;44mprompt ',
  wrap: 'x'.repeat(95),
  'wide at the end': `${'a'.repeat(39)}日本`,
  'alternate screen': 'before\r\n\x1b[?1049h\x1b[2J\x1b[5;5Halt',
  modes: '\x1b[?2004h\x1b[?1002h\x1b[?1006h\x1b[?1h\x1b[?1004h\x1b=',
  'hidden cursor': '\x1b[?25lx',
  'cursor shape': '\x1b[5 qx',
  'no wraparound': '\x1b[?7lx',
  'origin mode': '\x1b[3;7r\x1b[?6hx',
  'scroll region': '\x1b[3;7rx',
  insert: 'abc\r\x1b[4hx',
  scrolled: Array.from({ length: 60 }, (_, at) => `line ${at}`).join('\r\n'),
  'more than is kept': Array.from({ length: 400 }, (_, at) => `line ${at} ${'long '.repeat(at % 20)}`).join('\r\n'),
  'cursor after an erase': 'abc\x1b[5;20H',
  'background of erased cells': '\x1b[44m\x1b[2Jx',
  'background to the end of the line': '\x1b[44mab\x1b[K\r\n\x1b[m',
  'alternate and back': 'one\x1b[?1049htwo\x1b[?1049lthree',
  'synchronized output': '\x1b[?2026hx',
  graphemes: '👨‍👩‍👧 e\u0301',
  'combining to come': 'e',
  'cursor at the margin': 'x'.repeat(40),
  'saved cursor': '\x1b[5;5H\x1b[32m\x1b7\x1b[m\x1b[H',
  tabs: '\x1b[3g\x1b[1;4H\x1bH\r',
  charset: '\x1b(0lqk',
  'charset by shift': '\x1b)0\x0elqk',
  'half an escape': 'abc\x1b[3',
  'half a title': 'abc\x1b]2;ti',
  'half a character': 'abc\xe6\x97'.replace('\xe6\x97', ''),
  links: 'a \x1b]8;;https://example.org/\x1b\\link\x1b]8;;\x1b\\ b',
  'open link': 'a \x1b]8;id=1;https://example.org/\x1b\\lin',
  underlines: '\x1b[4:3m\x1b[58:5:3mcurly\x1b[4:2;58:2::1:2:3mdouble\x1b[m',
  title: '\x1b]2;the title\x1b\\x',
  'wide written over': '日本語\r\x1b[31mx',
  'erased in part': `${'x'.repeat(80)}\x1b[1;10H\x1b[5X\x1b[2;1H\x1b[1K`,
  'saved in the alternate screen': 'main\x1b[2;2H\x1b7\x1b[?1049h\x1b[4;4H\x1b7\x1b[6;8rx',
}

for (const [name, stream] of Object.entries(states))
  test(`a snapshot restores ${name}`, async () => {
    const [whole, joined] = await both([Buffer.from(stream)])
    assert.deepEqual(seen(joined), seen(whole))
    const after =
      { 'half an escape': '1mred', 'half a title': 'tle\x07', 'combining to come': '\u0301\x1b[3bx' }[name] ?? ''
    for (const bytes of [after + more, more]) {
      feed(whole, bytes)
      feed(joined, bytes)
      assert.deepEqual(seen(joined), seen(whole), 'after a kilobyte more')
    }
  })

test('a character or escape sequence cut anywhere is completed for a viewer who joins in between', async () => {
  const stream = Buffer.from(
    'a日\x1b[1;38;2;10;20;30m本\x1b]8;;https://example.org/\x1b\\語\x1b]8;;\x07\x1bPq\x1b\\\x1b[\n5Cé',
  )
  for (let at = 0; at <= stream.length; at++) {
    const [whole, joined] = await both([stream.subarray(0, at)])
    feed(whole, stream.subarray(at))
    feed(joined, stream.subarray(at))
    assert.deepEqual(seen(joined), seen(whole), `cut at ${at}`)
  }
})

function waitsBehindBlank(of: Terminal): boolean {
  const { cursorX, cursorY, baseY } = of.buffer.active
  const last = of.buffer.active.getLine(baseY + cursorY)?.getCell(of.cols - 1)
  return cursorX === of.cols && last?.getChars() === '' && last.getWidth() === 1
}

const number = fc.integer({ min: 0, max: 45 })
const csi = (...finals: string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(number, { maxLength: 2 }), fc.constantFrom(...finals))
    .map(([n, final]) => `\x1b[${n.join(';')}${final}`)
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[ -~]{1,60}$/) },
  { weight: 2, arbitrary: fc.constantFrom('日本', '😀', 'é', '─', 'x'.repeat(41)) },
  { weight: 3, arbitrary: fc.constantFrom('\r\n', '\n', '\r', '\t', '\b') },
  { weight: 4, arbitrary: csi('A', 'B', 'C', 'D', 'G', 'H', 'd', 'J', 'K', 'L', 'M', 'P', 'X', '@', 'S', 'T') },
  { weight: 1, arbitrary: csi('r', 's', 'u', 'g') },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(0, 1, 2, 3, 4, 5, 7, 9, 22, 24, 27, 31, 39, 44, 49, 53, 95, 104)
      .map((n) => `\x1b[${n}m`),
  },
  { weight: 1, arbitrary: fc.constantFrom('\x1b[38;5;99m', '\x1b[48;2;1;2;3m', '\x1b[4:3m', '\x1b[58:5:9m') },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('?1', '?6', '?7', '?25', '?1000', '?1006', '?1047', '?1049', '?2004', '4'),
        fc.constantFrom('h', 'l'),
      )
      .map(([mode, set]) => `\x1b[${mode}${set}`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '\x1b7',
      '\x1b8',
      '\x1bM',
      '\x1bD',
      '\x1bE',
      '\x1bH',
      '\x1b(0',
      '\x1b(B',
      '\x0e',
      '\x0f',
      '\x1b)0',
    ),
  },
)

const RUNS = process.env['UKIYO_SCREEN_RUNS']

const size = fc.record({ cols: fc.integer({ min: 5, max: 60 }), rows: fc.integer({ min: 2, max: 20 }) })
/** Handled differently on resize: tab stops, and the alternate screen, which programs redraw. */
const minds = (text: string): boolean => text === '\x1bH' || /^.\[(.*g|\?104[79].)$/.test(text)
/** Bytes, with occasional resizes. */
const parts: fc.Arbitrary<Part[]> = fc
  .array(fc.oneof({ weight: 30, arbitrary: piece }, { weight: 1, arbitrary: size }), { maxLength: 120, size: 'max' })
  .map((pieces) => {
    const bytes = pieces.map((one) => (typeof one === 'string' ? Buffer.from(one) : one))
    // A window that grows back finds its old tab stops, which a viewer who joined in between never had.
    return bytes.every(Buffer.isBuffer) ? bytes : bytes.filter((one) => !Buffer.isBuffer(one) || !minds(one.toString()))
  })

/** Cuts at the fraction `where` of all bytes. */
function cut(stream: readonly Part[], where: number): [before: Part[], after: Part[]] {
  const lengths = stream.map((part) => (Buffer.isBuffer(part) ? part.length : 0))
  let left = Math.floor(lengths.reduce((sum, length) => sum + length, 0) * where)
  const before: Part[] = []
  for (const [at, part] of stream.entries()) {
    if (Buffer.isBuffer(part) && part.length > left)
      return [
        [...before, part.subarray(0, left)],
        [part.subarray(left), ...stream.slice(at + 1)],
      ]
    before.push(part)
    left -= lengths[at]!
  }
  return [before, []]
}

test('a snapshot at any position of any stream equals the whole stream, then and a kilobyte later', async () => {
  await fc.assert(
    fc.asyncProperty(parts, fc.double({ min: 0, max: 1, noNaN: true }), async (stream, where) => {
      const [before, after] = cut(stream, where)
      const [whole, joined] = await both(before)
      // No sequence can place a cursor after a last cell whose content was scrolled away.
      fc.pre(!waitsBehindBlank(whole))
      assert.deepEqual(seen(joined), seen(whole))
      // Programs redraw on resize. How xterm.js rewraps old lines depends on all earlier sizes.
      for (const part of [...after.filter(Buffer.isBuffer), Buffer.from(more)]) {
        take(whole, part)
        take(joined, part)
        assert.deepEqual(seen(joined), seen(whole), 'later')
      }
    }),
    // The same streams each time, unless more are requested.
    RUNS === undefined ? { numRuns: 200, seed: 1 } : { numRuns: Number(RUNS) },
  )
})
