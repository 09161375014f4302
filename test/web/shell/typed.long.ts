/** Typed text is kept when data arrives, and is never discarded without confirmation. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Locator, Page, Request } from 'playwright-core'
import { needs } from '../../needs.ts'
import { type TestServer, testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { type Visitor, hasChromium, sharedBrowser, visit } from '../browser.ts'
import { pagesOf } from '../scene/pages.ts'
import { type Scene, environment, furnish } from '../scene/scene.ts'
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
  watchRequests(visitor.page)
  await signIn(visitor.page, scene.aki)
  await visitor.page.goto(BETWEEN)
})

/** A page without fields. Opening it closes the dialogs of the previous page. */
const BETWEEN = '/app/invitations'

/** Opens a page without reloading the app. */
async function openPage(page: Page, path: string): Promise<void> {
  const between = page.getByRole('heading', { level: 1, name: 'Invitations', exact: true })
  const push = (to: string) => page.evaluate(`__TSR_ROUTER__.history.push(${JSON.stringify(to)})`)
  // An open dialog would stay open, so the app is reloaded.
  await ((await page.getByRole('dialog').count()) > 0 ? page.goto(BETWEEN) : push(BETWEEN))
  const leave = page.getByRole('alertdialog').getByRole('button', { name: 'Leave page', exact: true })
  await until(
    async () => {
      if (await leave.isVisible()) await leave.click()
      return between.isVisible()
    },
    (isThere) => isThere,
  )
  await push(path)
  await between.waitFor({ state: 'detached' })
  await page.getByRole('heading', { level: 1 }).first().waitFor()
}

/** The page's pending requests, except the event stream. */
const pending = new Set<Request>()
function watchRequests(page: Page): void {
  page.on('request', (request) => !/realtime|\/events/.test(request.url()) && pending.add(request))
  const end = (request: Request): unknown => pending.delete(request)
  page.on('requestfinished', end)
  page.on('requestfailed', end)
}

/** Waits until two consecutive frames have no pending requests. */
async function settle(page: Page): Promise<void> {
  const loading = page.getByRole('status', { name: /^Loading/ })
  for (let quiet = 0; quiet < 2;) {
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    quiet = pending.size === 0 && (await loading.count()) === 0 ? quiet + 1 : 0
  }
}

const WORDS =
  'input:not([type]), input:is([type=text], [type=email], [type=url], [type=password], [type=tel]), textarea'

/** The text fields and selects in a part of the page, without filters. */
async function fieldsIn(part: Locator): Promise<{ words: Locator[]; choices: Locator[] }> {
  const usable = async (all: Locator[]): Promise<Locator[]> => {
    const kept: Locator[] = []
    for (const one of all)
      if ((await one.isVisible()) && (await one.isEditable()) && !(await one.evaluate(isFilter))) kept.push(one)
    return kept
  }
  return {
    words: await usable(await part.locator(WORDS).all()),
    choices: await usable(await part.locator('select').all()),
  }
}
// Tests don't have the browser's types.
const isFilter = (field: any): boolean => field.closest('[role=search]') !== null || field.ariaHidden === 'true'

/** Types into every field and picks the last option of each select. Returns their values. */
async function fillAll(page: Page, part: Locator): Promise<string[]> {
  // An option can show other fields. If it hides the last text field, it is reverted.
  for (const choice of (await fieldsIn(part)).choices) {
    const before = await choice.inputValue()
    const values = await choice
      .locator('option:not([disabled])')
      .evaluateAll((all) => all.map((one) => (one as any).value))
    await choice.selectOption(values.at(-1))
    if ((await fieldsIn(part)).words.length === 0) await choice.selectOption(before)
  }
  for (const field of (await fieldsIn(part)).words) {
    await field.fill(`typed ${Math.random().toString(36).slice(2, 8)}`)
    // Closes suggestions, which would cover the next field.
    await page.keyboard.press('Tab')
  }
  return shownIn(part)
}

async function shownIn(part: Locator): Promise<string[]> {
  const { words, choices } = await fieldsIn(part)
  return Promise.all([...words, ...choices].map((field) => field.inputValue()))
}

/** Changes the data of the pages on the server: names, spend caps, rules, and a new resource of each kind. */
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

/** Makes the page refetch everything, as after a lost connection. */
async function readAgain(page: Page): Promise<void> {
  const read = page.waitForResponse((answer) => /\/v1\/workspaces\?/.test(answer.url()) && answer.ok())
  await page.evaluate(`dispatchEvent(new Event('offline'))`)
  await read
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

const ELSEWHERE = '/app/shared-with-me'
/** Opens another page by a link, even if a dialog covers it. */
const goAway = (page: Page): Promise<unknown> =>
  page.evaluate(`document.querySelector('a[href="${ELSEWHERE}"]').click()`)

/**
 * Does something that could discard typed text. The text must stay behind a confirmation, or be there again after
 * `back`.
 */
async function keepsWords(page: Page, part: Locator, act: () => Promise<unknown>, back: () => Promise<unknown>) {
  const typed = await shownIn(part)
  const from = page.url()
  const dialogs = await page.getByRole('dialog').count()
  const question = page.getByRole('alertdialog')
  await act()
  await until(
    async () =>
      (await question.isVisible()) || page.url() !== from || (await page.getByRole('dialog').count()) < dialogs,
    (isDecided) => isDecided,
  )
  if (await question.isVisible()) {
    await question.getByRole('button', { name: 'Keep editing' }).click()
    await question.waitFor({ state: 'detached' })
  } else await back()
  await becomes(() => shownIn(part), typed)
}

/** Presses Escape and clicks outside, which must not discard a dialog's text. Then closes it. */
async function keepsWordsOnEscape(page: Page, dialog: Locator, open: () => Promise<unknown>): Promise<void> {
  const typed = await shownIn(dialog)
  const pressEscape = async (): Promise<void> => {
    await page.keyboard.press('Escape')
    // The first press may only close suggestions.
    if ((await page.getByRole('listbox').count()) > 0) await page.keyboard.press('Escape')
  }
  await page.mouse.click(5, 5)
  assert.deepEqual(await shownIn(dialog), typed)
  await keepsWords(page, dialog, pressEscape, open)
  const question = page.getByRole('alertdialog')
  await pressEscape()
  await until(
    async () => (await question.isVisible()) || (await page.getByRole('dialog').count()) === 0,
    (isDecided) => isDecided,
  )
  // Confirms the question, if the dialog asks one.
  if (await question.isVisible()) await question.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

/** Opens a page, types into its fields or its open dialog, and tries to lose the text. False: no fields. */
async function tryPage(page: Page, { path, open }: Part): Promise<boolean> {
  await openPage(page, path)
  await open?.(page)
  await settle(page)
  const dialog = page.getByRole('dialog')
  const isDialog = (await dialog.count()) > 0
  const part = isDialog ? dialog.first() : page.locator('#content')
  if ((await fieldsIn(part)).words.length === 0) return false
  const typed = await fillAll(page, part)
  await changeAll()
  await readAgain(page)
  await becomes(() => shownIn(part), typed)
  await keepsWords(
    page,
    part,
    () => goAway(page),
    async () => {
      await page.goBack()
      if (isDialog) await open!(page)
    },
  )
  if (isDialog) await keepsWordsOnEscape(page, part, () => open!(page))
  return true
}

/** The labels of buttons that may open a form. */
const OPENERS =
  /^(New|Create|Add|Invite|Share|Edit|Change|Rename|Request|Connect computer|Install|Move|Copy to|Grant|Transfer|Set|Limit)\b/
/** Rows of a list have the same buttons. */
const MAX_BUTTONS = 4

/** Types into the dialogs that a page's buttons open. Returns the labels of these buttons. */
async function tryButtons(page: Page, path: string): Promise<string[]> {
  const buttons = page.locator('#content').getByRole('button', { name: OPENERS })
  const tried: string[] = []
  let count = 1
  for (let which = 0; which < Math.min(count, MAX_BUTTONS); which++) {
    await openPage(page, path)
    await settle(page)
    count = await buttons.count()
    const button = buttons.nth(which)
    if (count === 0 || !(await button.isVisible()) || !(await button.isEnabled())) continue
    const words = await button.innerText()
    await button.click()
    await settle(page)
    const dialog = page.getByRole('dialog')
    if ((await dialog.count()) === 0 || (await fieldsIn(dialog.first())).words.length === 0) continue
    tried.push(words)
    await fillAll(page, dialog.first())
    await keepsWordsOnEscape(page, dialog.first(), () => button.click())
  }
  return tried
}

type Part = ReturnType<typeof pagesOf>[number]

test(
  'typed words are kept when data arrives, and neither Escape, a click outside nor another page discards them',
  needs(hasChromium, 'Chromium'),
  async (t) => {
    const { page } = visitor
    const pages: string[] = []
    const buttons: string[] = []
    const tried = new Set<string>()
    for (const part of pagesOf(scene)) {
      await t.test(part.name, async () => {
        if (await tryPage(page, part)) pages.push(part.name)
      })
      if (tried.has(part.path)) continue
      tried.add(part.path)
      await t.test(`the buttons of ${part.name}`, async () => {
        for (const words of await tryButtons(page, part.path)) buttons.push(`${part.name}: ${words}`)
      })
    }
    for (const name of ['new-automation', 'add-provider', 'new-key', 'agent', 'welcome', 'preview', 'workspaces'])
      assert.ok(pages.includes(name), `${name} of ${pages.join(', ')}`)
    assert.ok(buttons.length >= 8, buttons.join(', '))
    t.diagnostic(JSON.stringify({ pages: pages.length, dialogs_of_buttons: buttons.length }))
  },
)
