// Thorough: run by the merge check, or by name.
/** Dropped files are accepted or rejected with a hint, and never replace the app. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { until } from '../../until.ts'
import { type Visitor, hasChromium, sharedBrowser, visit } from '../browser.ts'
import { pagesOf } from '../scene/pages.ts'
import { environment, furnish } from '../scene/scene.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

/** Drops files at a position, like a file manager. */
async function dropAt(
  { page, context }: Visitor,
  paths: readonly string[],
  [x, y]: readonly [number, number],
): Promise<void> {
  const session = await context.newCDPSession(page)
  const data = { items: [], files: [...paths], dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x, y, data })
  await session.detach()
}

test('files dropped anywhere never navigate away from the app', needs(hasChromium, 'Chromium'), async () => {
  await using server = await testServer({ environment })
  await using scene = await furnish(server)
  const file = join(server.database.dataDir, 'dropped.txt')
  await writeFile(file, 'dropped')
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await page.goto('/app/sign-in')
  const places = [
    [640, 600],
    [700, 40],
    [60, 700],
  ] as const
  const dropAll = async (name: string): Promise<void> => {
    const before = page.url()
    await page.evaluate('globalThis.stayed = true')
    for (const place of places) await dropAt(visitor, [file], place)
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    assert.deepEqual([page.url(), await page.evaluate('globalThis.stayed')], [before, true], name)
  }
  await page.getByLabel('Email').waitFor()
  await dropAll('sign-in')
  await signIn(page, scene.aki)
  const seen = new Set<string>()
  for (const { name, path } of pagesOf(scene)) {
    if (seen.has(path)) continue
    seen.add(path)
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await dropAll(name)
  }
  await page.goto('/app/inbox')
  await page.getByRole('heading', { level: 1 }).waitFor()
  await dropAt(visitor, [file], [640, 600])
  await page.getByText('Files can’t be dropped here.').first().waitFor()

  // Rejected next to a folder's list, attached over a chat.
  await page.goto(`/app/chats/${scene.chatId}`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  await dropAt(visitor, [file], [60, 700])
  await until(
    () => page.getByRole('list', { name: 'Attached files' }).getByText('dropped.txt').count(),
    (count) => count === 1,
  )
})
