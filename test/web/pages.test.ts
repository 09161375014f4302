import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { breaches } from './axe.ts'
import { hasChromium, sharedBrowser, visit } from './browser.ts'
import { pagesOf } from './pages.ts'
import { environment, furnish } from './scene.ts'
import { drawnIn, signIn } from './steps.ts'

const browser = sharedBrowser()

/** Placeholders that are wider than their field. */
const cutPlaceholders = `[...document.querySelectorAll('input[placeholder]')].flatMap((input) => {
  const { fontSize, fontFamily, paddingLeft, paddingRight } = getComputedStyle(input)
  const pen = document.createElement('canvas').getContext('2d')
  pen.font = fontSize + ' ' + fontFamily
  const room = input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
  return input.clientWidth > 0 && pen.measureText(input.placeholder).width > room ? [input.placeholder] : []
})`

/** Words in the names of rows that go on in a new line. */
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

/** Movements that somebody sees who asked for none. */
const moving = `document.getAnimations().filter((one) => {
  const { duration, iterations } = one.effect.getComputedTiming()
  return one.playState === 'running' && duration * iterations > 20
}).length`

/** Of a page that has just changed its size and its colours some parts may follow a moment later: what is a fault stays one. */
async function breachesAtRest(page: Page): Promise<string[]> {
  let found = await breaches(page)
  for (let n = 0; n < 10 && found.length > 0; n++) {
    await page.waitForTimeout(200)
    found = await breaches(page)
  }
  return found
}

/** Where colours are the system's, things that only a background told apart. */
const toldByColour = `[...document.querySelectorAll('[aria-current="page"], button[aria-pressed="true"], [data-highlighted]')]
  .filter((one) => one.checkVisibility() && getComputedStyle(one).outlineStyle === 'none')
  .map((one) => one.textContent)`

test(
  'every page, light and dark, in colours of the system, from a small phone to the widest screen: nothing for axe, nothing cut off, nothing that moves, no breach of the policy',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    await using scene = await furnish(server)
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    const looks = [
      { colorScheme: 'light', width: 1280, height: 800 },
      { colorScheme: 'dark', width: 360, height: 740 },
    ] as const
    const check = async (name: string) => {
      await page
        .getByRole('status', { name: /^Loading/ })
        .first()
        .waitFor({ state: 'detached' })
      for (const { colorScheme, ...size } of looks) {
        await page.setViewportSize(size)
        await page.emulateMedia({ colorScheme })
        await drawnIn(page, colorScheme)
        assert.deepEqual(await breachesAtRest(page), [], `${name}, ${colorScheme}`)
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
        assert.ok(wide <= size.width, `${name} is ${wide} wide at ${size.width}`)
        assert.deepEqual(await page.evaluate(cutPlaceholders), [], `${name}, ${size.width}`)
        assert.deepEqual(await page.evaluate(cutWords), [], `${name}, ${size.width}`)
      }
      for (const width of [390, 768, 2_560]) {
        await page.setViewportSize({ width, height: 900 })
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
        assert.ok(wide <= width, `${name} is ${wide} wide at ${width}`)
      }
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' })
      assert.deepEqual(await page.evaluate(toldByColour), [], `${name}, colours of the system`)
      assert.equal(await page.evaluate(moving), 0, `${name} moves`)
      await page.emulateMedia({ forcedColors: 'none' })
      await page.setViewportSize(looks[0])
    }
    for (const name of ['sign-up', 'sign-in']) {
      await page.goto(`/app/${name}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await check(name)
    }
    await signIn(page, scene.aki)
    for (const { name, path, open } of pagesOf(scene)) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await open?.(page)
      await check(name)
    }
    assert.deepEqual(visitor.wrongs, [])
  },
)

test(
  'the theme that aki picks is there before the first paint, and on her other devices',
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
