// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { becomes } from '../until.ts'
import { breaches } from './axe.ts'
import { hasChromium, sharedBrowser, visit } from './browser.ts'
import { drawnIn, signIn } from './steps.ts'

const browser = sharedBrowser()
const chromium = needs(hasChromium, 'Chromium')

const PAGES = [
  ['home', '/docs'],
  ['area', '/docs/api/drive'],
  ['operation', '/docs/api/chats/create'],
  ['upload', '/docs/api/drive/upload'],
  ['guide', '/docs/guides/realtime'],
  ['gateways', '/docs/gateways'],
  ['search', '/docs/search?q=upload'],
] as const

test('the docs pass axe, fit all sizes and violate no policy, in both themes', chromium, async () => {
  await using server = await testServer()
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  const looks = [
    { scheme: 'light', width: 1280, height: 860 },
    { scheme: 'dark', width: 390, height: 800 },
  ] as const
  for (const [name, path] of PAGES) {
    await page.goto(path)
    for (const { scheme, ...size } of looks) {
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme: scheme })
      await drawnIn(page, scheme)
      assert.deepEqual(await breaches(page), [], `${name}, ${scheme}`)
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(wide <= size.width, `${name} is ${wide} wide at ${size.width}`)
    }
  }
  assert.deepEqual(visitor.wrongs, [])
})

test('the docs can be searched by keyboard, remember the language, and examples can be copied', chromium, async () => {
  await using server = await testServer()
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await page.goto('/docs')
  await page.keyboard.press('/')
  await page.keyboard.type('upload a fil')
  await page.getByRole('region', { name: 'Search results' }).getByRole('link').first().waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/docs/api/drive/upload')
  await page.getByRole('tab', { name: 'Python' }).click()
  await page.goto('/docs/api/chats/create')
  await becomes(() => page.getByRole('tab', { name: 'Python' }).getAttribute('aria-selected'), 'true')
  await page.getByRole('tab', { name: 'Python' }).press('ArrowLeft')
  const shown = page.getByRole('tabpanel', { name: 'TypeScript' })
  await shown.getByRole('button', { name: 'Copy' }).click()
  await shown.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  assert.ok(copied.includes(`fetch('${server.origin}/v1/chats'`), copied)
  await becomes(() => page.getByRole('heading', { name: 'Try it here' }).isVisible(), false)
  assert.deepEqual(visitor.wrongs, [])
})

test('examples use the address of the browser behind a proxy without forwarding headers', chromium, async () => {
  await using server = await testServer()
  // The server doesn't know this name and port.
  const proxy = createServer((asked, answer) => {
    const headers = { ...asked.headers, host: 'unknown.example.com' }
    const onward = request(new URL(asked.url!, server.origin), { method: asked.method!, headers }, (response) => {
      answer.writeHead(response.statusCode!, response.headers)
      response.pipe(answer)
    })
    asked.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  try {
    await using visitor = await visit(browser(), origin)
    await visitor.page.goto('/docs/api/me/get')
    const shown = visitor.page.getByRole('tabpanel', { name: 'curl' })
    await shown.getByText(`curl ${origin}/v1/me`).waitFor()
    assert.deepEqual(visitor.wrongs, [])
  } finally {
    proxy.close()
    proxy.closeAllConnections()
  }
})

test('signed-in users can try endpoints, and served pages contain no personal data', chromium, async () => {
  await using server = await testServer()
  const aki = await server.person('Aki')
  const { key } = await aki.key({ name: 'laptop' })
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, aki)
  const sent = await page.goto('/docs/api/chats/create')
  await page.getByText(`# UK_KEY is your key “laptop”, ${key.slice(0, 11)}…`).waitFor()
  // The open page is scrolled into view in the long list.
  const inSight = `document.querySelector('nav [aria-current]').getBoundingClientRect().bottom < innerHeight`
  assert.equal(await page.evaluate<boolean>(inSight), true)
  const source = await sent!.text()
  assert.ok(!source.includes(key.slice(0, 11)) && !source.includes('Aki'))
  assert.ok(!(await page.content()).includes(key))
  const section = page.getByRole('region', { name: 'Try it here' })
  await section.getByText('as Aki').waitFor()
  await section.getByLabel('Body').fill('{ "title": ')
  await section.getByRole('button', { name: 'Send POST' }).click()
  await section.getByText('The body is not JSON').waitFor()
  await section.getByLabel('Body').fill('{ "title": "Tried here" }')
  await section.getByRole('button', { name: 'Send POST' }).click()
  await section.getByText('201 Created').waitFor()
  assert.deepEqual(await breaches(page), [])
  const [chat] = (await aki.get('/chats')).body.data
  assert.equal(chat.title, 'Tried here')

  await page.goto('/docs/api/drive/upload')
  await section.getByLabel('Body').fill(JSON.stringify({ workspace_id: aki.workspaceId }))
  await section
    .getByLabel('File')
    .setInputFiles({ name: 'lake.txt', mimeType: 'text/plain', buffer: Buffer.from('a lake') })
  await section.getByRole('button', { name: 'Send POST' }).click()
  await section.getByText('201 Created').waitFor()
  assert.equal((await aki.get('/drive/files')).body.data[0].name, 'lake.txt')

  await page.goto('/docs/api/chats/trash')
  await section.getByLabel('id').fill(chat.id)
  await section.getByRole('button', { name: 'Send DELETE' }).click()
  assert.equal((await aki.get('/chats')).body.data.length, 1)
  await section.getByRole('checkbox').check()
  await section.getByRole('button', { name: 'Send DELETE' }).click()
  await section.getByText('200 OK').waitFor()
  assert.equal((await aki.get('/chats')).body.data.length, 0)
  assert.deepEqual(visitor.wrongs, [])
})
