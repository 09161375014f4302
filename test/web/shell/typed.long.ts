/** Typed words are kept when data arrives later, and aren't discarded without a question. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { needs } from '../../needs.ts'
import { type TestServer, testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { type Visitor, hasChromium, sharedBrowser, visit } from '../browser.ts'
import { pagesOf } from '../pages.ts'
import { type Scene, environment, furnish } from '../scene.ts'
import { signIn } from '../steps.ts'

const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
const browser = sharedBrowser()
let server: TestServer
let scene: Scene
let visitor: Visitor
before(async () => {
  if (!hasChromium) return
  server = stack.use(await testServer({ environment }))
  scene = stack.use(await furnish(server))
  visitor = stack.use(await visit(browser(), server.origin))
  await signIn(visitor.page, scene.aki)
})

const WORDS =
  'input:not([type]), input:is([type=text], [type=email], [type=url], [type=password], [type=tel]), textarea'

/** The fields for words in a part of the page, and the selects. What only narrows a list isn't among them. */
async function fieldsIn(part: Locator): Promise<{ words: Locator[]; choices: Locator[] }> {
  const usable = async (all: Locator[]): Promise<Locator[]> => {
    const kept: Locator[] = []
    for (const one of all)
      if ((await one.isVisible()) && (await one.isEditable()) && !(await one.evaluate(inSearch))) kept.push(one)
    return kept
  }
  return {
    words: await usable(await part.locator(WORDS).all()),
    choices: await usable(await part.locator('select').all()),
  }
}
// The types of the browser aren't there in tests.
const inSearch = (field: any): boolean => field.closest('[role=search]') !== null

/** Types into every field and takes the last choice of each select. Returns what they show. */
async function fillAll(page: Page, part: Locator): Promise<string[]> {
  // A choice may bring other fields.
  for (const choice of (await fieldsIn(part)).choices) {
    const values = await choice
      .locator('option:not([disabled])')
      .evaluateAll((all) => all.map((one) => (one as any).value))
    await choice.selectOption(values.at(-1))
  }
  for (const field of (await fieldsIn(part)).words) {
    await field.fill(`typed ${Math.random().toString(36).slice(2, 8)}`)
    // A list of suggestions would lie over the next field.
    await page.keyboard.press('Tab')
  }
  return shownIn(part)
}

async function shownIn(part: Locator): Promise<string[]> {
  const { words, choices } = await fieldsIn(part)
  return Promise.all([...words, ...choices].map((field) => field.inputValue()))
}

/** Changes what the pages show, on the server: names, budgets, rules, and one more of each kind. */
let changes = 0
async function changeAll(): Promise<void> {
  const { aki, agentId, automationId, computerId, webhookId, chatId, fileId } = scene
  const name = `Changed ${++changes}`
  const answers = await Promise.all([
    aki.patch(`/workspaces/${aki.workspaceId}`, { spend_cap_usd: 100 + changes }),
    aki.patch(`/agents/${agentId}`, { description: name }),
    aki.patch(`/automations/${automationId}`, { name: `Morning report ${changes}` }),
    aki.patch(`/computers/${computerId}`, { name: `Print room ${changes}` }),
    aki.patch(`/webhook-endpoints/${webhookId}`, { name: `Till of the shop ${changes}` }),
    aki.patch(`/chats/${chatId}`, { title: `Views of the mountain ${changes}` }),
    aki.patch(`/drive/files/${fileId}`, { name: `order of printing ${changes}.md` }),
    aki.post('/workspaces', { name }),
    aki.post('/ai-gateway/provider-endpoints', {
      name,
      slug: `more-${changes}`,
      shape: 'openai-chat',
      base_url: 'http://127.0.0.1:9/v1',
      api_key: 'sk-0123456789',
      models: [{ id: 'gpt-4o' }],
      test: false,
    }),
  ])
  for (const { status, text } of answers) assert.ok(status < 300, text)
}

/** Makes the page read everything again, as after a lost connection. */
async function readAgain(page: Page): Promise<void> {
  const read = page.waitForResponse((answer) => /\/v1\/workspaces\?/.test(answer.url()) && answer.ok())
  await page.evaluate(`dispatchEvent(new Event('offline'))`)
  await read
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

const ELSEWHERE = '/app/shared-with-me'
/** Another page of the app is opened by a link, which may lie behind a dialog. */
const goAway = (page: Page): Promise<unknown> =>
  page.evaluate(`document.querySelector('a[href="${ELSEWHERE}"]').click()`)

const pages = pagesOf({} as Scene)
// Dialogs and pages with a form that is sent; of the others nothing is lost.
const withWords = new Set<string>()

for (const [at, { name }] of pages.entries())
  test(
    `${name}: typed words are kept when data arrives, and aren't lost by Escape or another page`,
    needs(hasChromium, 'Chromium'),
    async (t) => {
      const { page } = visitor
      const { path, open } = pagesOf(scene)[at]!
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await open?.(page)
      await page
        .getByRole('status', { name: /^Loading/ })
        .first()
        .waitFor({ state: 'detached' })
      const dialog = page.getByRole('dialog')
      const isDialog = (await dialog.count()) > 0
      const part = isDialog ? dialog.first() : page.locator('#content')
      if ((await fieldsIn(part)).words.length === 0) return t.skip('no fields')
      withWords.add(name)
      const typed = await fillAll(page, part)
      await changeAll()
      await readAgain(page)
      await becomes(() => shownIn(part), typed)
      const question = page.getByRole('alertdialog')
      /** Does what might discard the words: a question keeps them, or they are a draft that is there again. */
      const keepsThem = async (act: () => Promise<unknown>, back: () => Promise<unknown>): Promise<void> => {
        const from = page.url()
        await act()
        const isGone = async (): Promise<boolean> =>
          page.url() !== from || (isDialog && (await page.getByRole('dialog').count()) === 0)
        await until(
          async () => (await question.isVisible()) || isGone(),
          (decided) => decided,
        )
        if (await question.isVisible()) {
          await question.getByRole('button', { name: 'Keep editing' }).click()
          await question.waitFor({ state: 'detached' })
        } else await back()
        await becomes(() => shownIn(part), typed)
      }
      await keepsThem(
        () => goAway(page),
        async () => {
          await page.goBack()
          if (isDialog) await open!(page)
        },
      )
      if (!isDialog) return
      await page.mouse.click(5, 5)
      assert.deepEqual(await shownIn(part), typed)
      await keepsThem(
        async () => {
          await page.keyboard.press('Escape')
          // The first one may close a list of suggestions.
          if ((await page.getByRole('listbox').count()) > 0) await page.keyboard.press('Escape')
        },
        () => open!(page),
      )
      await page.keyboard.press('Escape')
      await until(
        async () => (await question.isVisible()) || (await page.getByRole('dialog').count()) === 0,
        (decided) => decided,
      )
      // Where it asked, the answer closes it; a draft needs none.
      if (await question.isVisible()) await question.getByRole('button', { name: 'Close', exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    },
  )

test('the pages with fields were found', needs(hasChromium, 'Chromium'), () => {
  for (const name of ['new-automation', 'add-provider', 'new-key', 'agent', 'welcome', 'preview', 'workspaces'])
    assert.ok(withWords.has(name), `${name} of ${[...withWords].join(', ')}`)
})
