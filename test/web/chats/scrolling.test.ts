// Thorough: run by the merge check, or by name.
/** The rows of a long chat don't move while rows above them are measured late. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { until } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'
import { longChat } from './long-chat.ts'

const browser = sharedBrowser()
const MESSAGES = 240

/** Content that renders in several steps: code, formulas, tables, diagrams, lists, quotes. */
const kinds = [
  '```ts\nexport const price = (sheets: number): number => sheets * 12.5\n// by the sheet\n```',
  'By $$\\int_0^1 x^2 dx = \\frac{1}{3}$$ it is a third.',
  '| block | wood |\n|---|---|\n| key | cherry |\n| sea | cherry |',
  '```mermaid\ngraph LR\n  A[Keyblock] --> B[Blue]\n```',
  '# Views\n\nof **the mountain**\n\n- one\n- two\n  - three',
  `> ${'a long quote with many words '.repeat(30)}`,
]

test(
  'late measurements above the view do not move visible rows, in either direction',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment: { UK_SIM: 'on' } })
    const alice = await server.person('Alice')
    const chatId = await longChat(server, alice, MESSAGES)
    const client = new pg.Client(server.database.connection)
    await client.connect()
    await client.query(
      `update messages m set text = w.words, content = jsonb_build_array(jsonb_build_object('type', 'text', 'text', w.words))
      from (select id, text || E'\\n\\n' || ($2::text[])[1 + seq % ${kinds.length}] as words from messages where chat_id = $1::ulid) w
      where w.id = m.id`,
      [chatId, kinds],
    )
    await client.end()
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto(`/app/chats/${chatId}`)
    const log = page.getByRole('log', { name: 'Messages' })
    await log.getByText(`Number ${MESSAGES}.`).waitFor()

    /** The tops of the visible rows by key, once two measurements agree. */
    const tops = async (): Promise<Record<string, number>> => {
      const look = () =>
        log.evaluate((box) => {
          const { top, bottom } = box.getBoundingClientRect()
          const rows = [...box.querySelectorAll('[data-index]')].map((row: any) => {
            const rect = row.getBoundingClientRect()
            return [/Number \d+\./.exec(row.textContent)?.[0] ?? '', rect.top, rect.bottom] as const
          })
          return Object.fromEntries(
            rows.filter(([, from, to]) => to > top && from < bottom).map(([name, from]) => [name, from]),
          )
        })
      let before = ''
      for (let still = 0; ;) {
        const now = await look()
        still = JSON.stringify(now) === before ? still + 1 : 0
        before = JSON.stringify(now)
        if (still === 6) return now
        await page.evaluate('new Promise((done) => requestAnimationFrame(done))')
      }
    }
    await log.hover()
    const shifts: string[] = []
    const turn = async (by: number): Promise<void> => {
      const before = await tops()
      await page.mouse.wheel(0, by)
      const anchor = Object.keys(before).find((name) => before[name]! > 120 && before[name]! < 620)
      if (anchor === undefined) return
      await until(tops, (now) => now[anchor] !== before[anchor] || !(anchor in now))
      const after = await tops()
      const moved = after[anchor] === undefined ? -by : after[anchor] - before[anchor]!
      // Steps at the first and last rows are shorter.
      const [top, left] = await log.evaluate((box) => [
        box.scrollTop,
        box.scrollHeight - box.scrollTop - box.clientHeight,
      ])
      if (top! > 0 && left > 0 && Math.abs(moved + by) > 2) shifts.push(`${anchor} moved by ${moved} instead of ${-by}`)
    }
    for (let step = 0; step < 30; step++) await turn(-400)
    for (let step = 0; step < 8; step++) await turn(300)
    for (let step = 0; step < 12; step++) await turn(-250)
    assert.deepEqual(shifts, [])
  },
)
