/** Takes screenshots of the docs: `sh bin/run test/web/docs-pictures.ts FOLDER`. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { testServer } from '../server.ts'
import { openBrowser, visit } from './browser.ts'
import { signIn } from './steps.ts'

const folder = process.argv[2]!
mkdirSync(folder, { recursive: true })
await using server = await testServer()
await using browser = await openBrowser()
const aki = await server.person('Aki')
await aki.key({ name: 'laptop' })
for (const [look, theme, width, height] of [
  ['light', 'light', 1280, 900],
  ['dark', 'dark', 1280, 900],
  ['phone', 'light', 390, 800],
] as const) {
  await using visitor = await visit(browser, server.origin, { theme })
  const { page } = visitor
  await signIn(page, aki)
  await page.setViewportSize({ width, height })
  for (const [name, path] of [
    ['home', '/docs'],
    ['area', '/docs/api/drive'],
    ['operation', '/docs/api/chats/create'],
    ['guide', '/docs/guides/webhooks'],
    ['gateways', '/docs/gateways'],
  ] as const) {
    await page.goto(path)
    await page.waitForLoadState('networkidle')
    await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: name === 'operation' })
  }
  await page.goto('/docs')
  await page.getByRole('searchbox').fill('upload')
  await page.getByRole('region', { name: 'Search results' }).getByRole('link').first().waitFor()
  await page.screenshot({ path: join(folder, `search-${look}.png`) })
}
