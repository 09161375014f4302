import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { breaches } from './axe.ts'
import { hasChromium, openBrowser, visit } from './browser.ts'
import { pages } from './pages.ts'
import { environment, furnish } from './scene.ts'
import { signIn } from './steps.ts'

test(
  'every page, light and dark, wide and on a small phone: nothing for axe, nothing cut off, no breach of the policy',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    await using scene = await furnish(server)
    await using browser = await openBrowser()
    const looks = [
      { theme: 'light', width: 1280 },
      { theme: 'dark', width: 360 },
    ] as const
    await Promise.all(
      looks.map(async (look) => {
        await using visitor = await visit(browser, server.origin, look)
        const { page } = visitor
        const check = async (name: string) => {
          await page
            .getByRole('status', { name: /^Loading/ })
            .first()
            .waitFor({ state: 'detached' })
          assert.deepEqual(await breaches(page), [], `${name}, ${look.theme}`)
          const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
          assert.ok(wide <= look.width, `${name} is ${wide} wide at ${look.width}`)
        }
        await page.goto('/app/sign-up')
        await page.getByRole('heading', { level: 1 }).waitFor()
        await check('sign-up')
        await page.goto('/app/sign-in')
        await page.getByRole('heading', { level: 1 }).waitFor()
        await check('sign-in')
        await signIn(page, scene.aki)
        for (const { name, path, open } of pages) {
          await page.goto(path)
          await page.getByRole('heading', { level: 1 }).waitFor()
          await open?.(page)
          await check(name)
        }
        assert.deepEqual(visitor.wrongs, [])
      }),
    )
  },
)

test(
  'the theme that aki picks is there before the first paint, and on her other devices',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer()
    const aki = await server.person('Aki')
    await using browser = await openBrowser()
    await using visitor = await visit(browser, server.origin)
    const { page } = visitor
    await signIn(page, aki)
    const paper = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const light = await paper()
    const saved = page.waitForResponse((response) => response.url().endsWith('/v1/settings') && response.ok())
    await page.getByRole('radio', { name: 'Dark' }).check({ force: true })
    await saved
    const dark = await paper()
    assert.notEqual(dark, light)
    assert.equal((await aki.get('/settings')).body.data.theme, 'dark')
    await page.route('**/assets/*.js', (route) => route.abort())
    await page.reload()
    assert.equal(await paper(), dark)

    await using other = await visit(browser, server.origin)
    await signIn(other.page, aki)
    await other.page.locator('html[data-theme=dark]').waitFor()
  },
)
