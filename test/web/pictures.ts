/**
 * Updates the screenshots in docs/images with real data. With a folder, saves every page in both themes and phone size:
 * `sh bin/run test/web/pictures.ts FOLDER`.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { testServer } from '../server.ts'
import { openBrowser, visit } from './browser.ts'
import { pagesOf } from './scene/pages.ts'
import { environment, furnish } from './scene/scene.ts'
import { signIn } from './steps.ts'

const folder = process.argv[2] ?? join(import.meta.dirname, '../../docs/images')
mkdirSync(folder, { recursive: true })
const isWanted = (name: string, look: string): boolean =>
  process.argv[2] !== undefined || existsSync(join(folder, `${name}-${look}.png`))

await using server = await testServer({ environment })
await using scene = await furnish(server)
await using browser = await openBrowser()

const looks = [
  { name: 'light', theme: 'light', width: 1280, height: 860 },
  { name: 'dark', theme: 'dark', width: 1280, height: 860 },
  { name: 'phone', theme: 'light', width: 390, height: 800 },
] as const

for (const { name: look, ...options } of looks) {
  await using visitor = await visit(browser, server.origin, options)
  const { page } = visitor
  const draw = async (name: string) => {
    // Pages with an event stream never become idle.
    await page
      .getByRole('status', { name: /^Loading/ })
      .first()
      .waitFor({ state: 'detached' })
    await page.waitForTimeout(500)
    const whole = look !== 'phone' && !(await page.getByRole('dialog').isVisible())
    await page.evaluate('document.activeElement?.blur(); scrollTo(0, 0)')
    // As tall as the page, so that sticky elements are drawn in place.
    const tall = whole ? await page.evaluate<number>('document.documentElement.scrollHeight') : options.height
    await page.setViewportSize({ width: options.width, height: Math.max(tall, options.height) })
    const bytes = await page.screenshot()
    await page.setViewportSize(options)
    // A palette of a few hundred colors takes a third of the space.
    await sharp(bytes)
      .png({ palette: true, effort: 10 })
      .toFile(join(folder, `${name}-${look}.png`))
  }
  await page.goto('/app/sign-in')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await draw('sign-in')
  await signIn(page, scene.aki)
  for (const { name, path, open } of pagesOf(scene).filter((one) => isWanted(one.name, look))) {
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await open?.(page)
    await draw(name)
  }
  if (visitor.wrongs.length > 0) process.stderr.write(`${look}: ${visitor.wrongs.join('\n')}\n`)
}
