import type { Page } from 'playwright-core'
import type { Visitor } from './browser.ts'

export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto('/app/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  // Not the navigation, which may be collapsed.
  await page.locator('#content').waitFor()
}

/** Waits until the page is drawn in this theme, which takes a few frames. */
export async function drawnIn(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  const isDark = 'Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor)[0]) < 128'
  while ((await page.evaluate<boolean>(isDark)) !== (scheme === 'dark'));
  // The content follows a frame later.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

/** Drops local files and folders onto the middle of the page, like a file manager. */
export async function dropOn({ page, context }: Visitor, paths: readonly string[]): Promise<void> {
  const session = await context.newCDPSession(page)
  // A page that hasn't been drawn yet takes no drops, and React runs its effects after it draws.
  await page.evaluate(`new Promise((resolve) =>
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))`)
  const { width, height } = page.viewportSize()!
  const data = { items: [], files: [...paths], dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: width * 0.6, y: height * 0.75, data })
  await session.detach()
}
