import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { becomes, until } from '../until.ts'
import { breaches } from './axe.ts'
import { hasChromium, sharedBrowser, visit, type Visitor } from './browser.ts'
import { pagesOf } from './scene/pages.ts'
import { environment, furnish, type Scene } from './scene/scene.ts'
import { drawnIn, signIn } from './steps.ts'

// Hooks run in order: this one must end before the browser closes.
const stack = new AsyncDisposableStack()
after(() => stack.disposeAsync())
const browser = sharedBrowser()
let visitor: Visitor
let scene: Scene
before(async () => {
  if (!hasChromium) return
  const server = stack.use(await testServer({ environment }))
  scene = stack.use(await furnish(server))
  visitor = stack.use(await visit(browser(), server.origin))
})

/** Placeholders wider than their field. */
const cutPlaceholders = `[...document.querySelectorAll('input[placeholder]')].flatMap((input) => {
  const { fontSize, fontFamily, paddingLeft, paddingRight } = getComputedStyle(input)
  const pen = document.createElement('canvas').getContext('2d')
  pen.font = fontSize + ' ' + fontFamily
  const room = input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
  return input.clientWidth > 0 && pen.measureText(input.placeholder).width > room ? [input.placeholder] : []
})`

/** Row names that wrap inside a word. */
const cutWords = `[...document.querySelectorAll('th[scope=row]')].flatMap((head) => {
  const texts = document.createTreeWalker(head, NodeFilter.SHOW_TEXT)
  const cut = []
  while (texts.nextNode())
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange()
      range.setStart(texts.currentNode, index)
      range.setEnd(texts.currentNode, index + word.length)
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) cut.push(word)
    }
  return cut
})`

/** Animations despite reduced motion. */
const moving = `document.getAnimations().filter((one) => {
  const { duration, iterations } = one.effect.getComputedTiming()
  return one.playState === 'running' && duration * iterations > 20
}).length`

/** Elements that only a background distinguishes in forced colors. */
const toldByColour = `[...document.querySelectorAll('[aria-current="page"], button[aria-pressed="true"], [data-highlighted]')]
  .filter((one) => one.checkVisibility() && getComputedStyle(one).outlineStyle === 'none')
  .map((one) => one.textContent)`

/** Headings that skip a level. */
const skippedLevels = `[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]
  .filter((heading) => heading.checkVisibility())
  .map((heading) => [Number(heading.localName[1]), heading.textContent])
  .flatMap(([level, words], at, all) => level > (all[at - 1]?.[0] ?? 0) + 1 ? ['h' + level + ' ' + words] : [])`

const looks = [
  { colorScheme: 'light', width: 1280, height: 800 },
  { colorScheme: 'dark', width: 360, height: 740 },
] as const

/** Both themes, forced colors, from small phones to wide screens. */
async function check(page: Page): Promise<void> {
  await page
    .getByRole('status', { name: /^Loading/ })
    .first()
    .waitFor({ state: 'detached' })
  for (const { colorScheme, ...size } of looks) {
    await page.setViewportSize(size)
    await page.emulateMedia({ colorScheme })
    await drawnIn(page, colorScheme)
    // Some parts react to size and theme changes a moment later.
    await becomes(() => breaches(page), [])
    await fits(page, size.width)
    await becomes(() => page.evaluate(skippedLevels), [])
    await becomes(() => page.evaluate(cutPlaceholders), [])
    await becomes(() => page.evaluate(cutWords), [])
  }
  for (const width of [390, 768, 2_560]) {
    await page.setViewportSize({ width, height: 900 })
    await fits(page, width)
  }
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' })
  await becomes(() => page.evaluate(toldByColour), [])
  assert.equal(await page.evaluate(moving), 0, 'nothing moves')
  await page.emulateMedia({ forcedColors: 'none' })
  await page.setViewportSize(looks[0])
}

/** Nothing is wider than the window. */
const fits = (page: Page, width: number) =>
  until(
    () => page.evaluate<number>('document.documentElement.scrollWidth'),
    (wide) => wide <= width,
  )

// One test per page, so that each has its own time limit.
function pageTest(name: string, open: (page: Page) => Promise<void>): void {
  void test(
    `${name}: no accessibility fault, no skipped heading level, nothing cut off or moving, no policy breach`,
    needs(hasChromium, 'Chromium'),
    async () => {
      const { page } = visitor
      await open(page)
      await check(page)
      assert.deepEqual(visitor.wrongs.splice(0), [])
    },
  )
}

for (const name of ['sign-up', 'sign-in'])
  pageTest(name, async (page) => {
    await page.goto(`/app/${name}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
  })

// The names are known before the scene is created.
for (const [at, { name }] of pagesOf({} as Scene).entries())
  pageTest(name, async (page) => {
    if (at === 0) await signIn(page, scene.aki)
    const { path, open } = pagesOf(scene)[at]!
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await open?.(page)
  })

test(
  'the theme is applied before the first paint and synced to other devices',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer()
    const aki = await server.person('Aki')
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, aki)
    await drawnIn(page, 'light')
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH' && response.ok())
    await page.getByRole('radio', { name: 'Dark' }).check({ force: true })
    await saved
    await drawnIn(page, 'dark')
    assert.equal((await aki.get('/settings')).body.data.theme, 'dark')
    await page.route('**/assets/*.js', (route) => route.abort())
    await page.reload()
    await drawnIn(page, 'dark')

    await using other = await visit(browser(), server.origin)
    await signIn(other.page, aki)
    await other.page.locator('html[data-theme=dark]').waitFor()
  },
)
