// Thorough: run by the merge check, or by name.
/** A chat with ten thousand messages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { script } from '../../chats/chats.ts'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { until } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'
import { longChat } from './long-chat.ts'
import { keysMs, openMs, p95, seenMs, steady } from './times.ts'

const browser = sharedBrowser()
const MESSAGES = 10_000

test(
  'a chat with ten thousand messages opens at its end, loads earlier messages without jumps, and streams new ones',
  needs(hasChromium, 'Chromium'),
  async (t) => {
    await using server = await testServer({ environment: { UK_SIM: 'on' } })
    const alice = await server.person('Alice')
    const chatId = await longChat(server, alice, MESSAGES, 'sim/script')
    const shortId = await longChat(server, alice, 20)
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    // Times aren't asserted: docs/app.md has those of a quiet machine.
    const short = await openMs(page, 'Of 20', 'Number 20.')
    const long = await openMs(page, `Of ${MESSAGES}`, `Number ${MESSAGES}.`)
    t.diagnostic(`opens in ${Math.round(long)} ms, a short one in ${Math.round(short)} ms`)
    const log = page.getByRole('log', { name: 'Messages' })
    await log.getByText(`Number ${MESSAGES}.`).waitFor()
    const atEnd = (): Promise<number> =>
      log.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)
    await until(atEnd, (px) => px <= 2)
    await until(
      () => log.getByRole('article').count(),
      (count) => count <= 60,
    )

    // Scrolling up loads older pages; the rows in view stay in place.
    await log.hover()
    for (let seen = MESSAGES; seen > MESSAGES - 300;) {
      await page.mouse.wheel(0, -1_500)
      await page.waitForTimeout(30)
      const first = await log.getByRole('article').first().innerText()
      seen = Math.min(seen, Number(/Number (\d+)\./.exec(first)?.[1] ?? seen))
    }
    // Scrolling continues for a moment, and new rows are measured while they render.
    const standing = () => log.evaluate(({ scrollTop, scrollHeight }) => `${scrollTop} ${scrollHeight}`)
    for (let still = 0, last = ''; still < 10; await page.waitForTimeout(30)) {
      const now = await standing()
      still = now === last ? still + 1 : 0
      last = now
    }
    const read = log.getByRole('article').nth(4)
    const name = /Number \d+\./.exec(await read.innerText())![0]
    const before = (await log.getByText(name).boundingBox())!.y
    // A new message arrives at the end.
    await alice.post(`/chats/${chatId}/messages`, { content: script({ text: 'And one more.' }) })
    await page.waitForTimeout(500)
    const after = (await log.getByText(name).boundingBox())!.y
    assert.ok(Math.abs(after - before) <= 2, `moved by ${after - before}`)
    await page.getByRole('button', { name: 'Jump to latest' }).click()
    await log.getByText('And one more.').first().waitFor()

    // Another window shows new messages, and typing stays responsive during a response.
    await using other = await visit(browser(), server.origin)
    await signIn(other.page, alice)
    await other.page.goto(`/app/chats/${shortId}`)
    await other.page.getByRole('log').getByText('Number 20.').waitFor()
    const usual = await seenMs(other.page, alice, shortId, 'seen-in-a-short-one')
    await other.page.goto(`/app/chats/${chatId}`)
    await other.page.getByRole('log').getByText('And one more.').first().waitFor()
    const seen = await seenMs(other.page, alice, chatId, script({ text: 'seen-by-both' }))
    t.diagnostic(`seen after ${seen} ms, in a short one after ${usual} ms`)
    const idle = p95(await keysMs(page, 'typed before it', 30))
    await alice.post(`/chats/${chatId}/messages`, { content: steady(8), background: true })
    await log.getByText('word20 ').waitFor()
    const keys = await keysMs(page, 'typed while the answer comes', 50)
    t.diagnostic(`keys are drawn in ${p95(keys)} ms while an answer comes, in ${idle} ms before (p95)`)
    assert.deepEqual([...visitor.wrongs, ...other.wrongs], [])
  },
)
