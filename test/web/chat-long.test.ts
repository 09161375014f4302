// Thorough: run by the merge check, or by name.
/** A conversation of ten thousand messages, in a real browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { until } from '../until.ts'
import { hasChromium, sharedBrowser, visit } from './browser.ts'
import { signIn } from './steps.ts'

const browser = sharedBrowser()
const MESSAGES = 10_000

test(
  'a chat of ten thousand messages opens at its end with few rows, shows earlier ones without a jump, and grows there',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment: { UK_SIM: 'on' } })
    const alice = await server.person('Alice')
    const chat = (await alice.post('/chats', { title: 'Long', model: 'sim/echo' })).body.data
    const client = new pg.Client(server.database.connection)
    await client.connect()
    const id = (i: string): string => `'01KA' || lpad((${i})::text, 22, '0')`
    await client.query(
      `insert into messages (id, chat_id, parent_id, line_id, depth, seq, role, status, content, text)
        select ${id('i')}, $1, case when i > 1 then ${id('i - 1')} end, ${id('1')}, i - 1, i,
          case when i % 2 = 1 then 'user' else 'assistant' end, 'completed',
          jsonb_build_array(jsonb_build_object('type', 'text', 'text', words)), words
        from generate_series(1, ${MESSAGES}) i
          cross join lateral (select 'Number ' || i || '. ' || repeat('some words of it ', 1 + i % 60) as words) w`,
      [chat.id],
    )
    await client.query(
      `update chats set head_message_id = ${id(String(MESSAGES))}, last_seq = ${MESSAGES} where id = $1`,
      [chat.id],
    )
    await client.end()
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto(`/app/chats/${chat.id}`)
    const log = page.getByRole('log', { name: 'Messages' })
    await log.getByText(`Number ${MESSAGES}.`).waitFor()
    const atEnd = (): Promise<number> =>
      log.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)
    await until(atEnd, (px) => px <= 2)
    assert.ok((await log.getByRole('article').count()) <= 60)

    // Read upwards until pages of older messages have come several times; what is in view stays where it is.
    await log.hover()
    for (let seen = MESSAGES; seen > MESSAGES - 300;) {
      await page.mouse.wheel(0, -1_500)
      await page.waitForTimeout(30)
      const first = await log.getByRole('article').first().innerText()
      seen = Math.min(seen, Number(/Number (\d+)\./.exec(first)?.[1] ?? seen))
    }
    const read = log.getByRole('article').nth(4)
    const name = /Number \d+\./.exec(await read.innerText())![0]
    const before = (await log.getByText(name).boundingBox())!.y
    // Somebody says something at the other end meanwhile.
    await alice.post(`/chats/${chat.id}/messages`, { content: 'And one more.' })
    await page.waitForTimeout(500)
    const after = (await log.getByText(name).boundingBox())!.y
    assert.ok(Math.abs(after - before) <= 2, `moved by ${after - before}`)
    await page.getByRole('button', { name: 'To the newest' }).click()
    await log.getByText('And one more.').first().waitFor()
    assert.deepEqual(visitor.wrongs, [])
  },
)
