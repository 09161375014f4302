// Thorough: run by the merge check, or by name.
/** Pages whose content can't be loaded show an error in its place, with a “Try again” button. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
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
let invitation: string
before(async () => {
  if (!hasChromium) return
  server = stack.use(await testServer({ environment }))
  scene = stack.use(await furnish(server))
  const shop = await scene.aki.post('/workspaces', { name: 'Gallery' })
  const invited = await scene.aki.post(`/workspaces/${shop.body.data.id}/invitations`, { email: 'eri@example.com' })
  invitation = invited.body.data.token
})

/** The routes of the app, such as `/chats/$id`: for signed-in users, and for signed-out ones. */
async function routesOf(page: Page): Promise<{ inside: string[]; outside: string[] }> {
  const routes: [string, string][] = await page.evaluate(
    'Object.entries(__TSR_ROUTER__.routesByPath).map(([path, { id }]) => [path, id])',
  )
  const paths = (isInside: boolean): string[] =>
    routes.filter(([, id]) => id.startsWith('/shell') === isInside).map(([path]) => path)
  return { inside: paths(true), outside: paths(false) }
}

/** An address of a route: from `pagesOf`, or the route itself if it has no parameters. */
function addressOf(route: string): string {
  if (route === '/$') return '/app/no/such-page'
  if (route === '/workspaces/$id') return `/app/workspaces/${scene.aki.workspaceId}`
  // Invitation links lead there.
  if (route === '/invitation') return `/app/invitations#token=${invitation}`
  if (!route.includes('$')) return `/app${route}`
  const form = new RegExp(`^/app${route.replaceAll(/\$\w+/g, '[^/?]+')}(?=[/?]|$)`)
  const addresses = pagesOf(scene).flatMap(({ path }) => form.exec(path)?.[0] ?? [])
  assert.ok(addresses[0], `add a page for ${route} to pagesOf`)
  return addresses[0]
}

/** Requests that succeed: the session, which every page needs, and the event stream. */
const KEPT = /^\/v1\/(auth\/session|realtime)/

/** Makes content requests fail until the returned function is called. */
async function failAll(page: Page): Promise<{ paths: Set<string>; release: () => Promise<void> }> {
  const paths = new Set<string>()
  const isContent = ({ pathname }: URL): boolean => pathname.startsWith('/v1/') && !KEPT.test(pathname)
  await page.route(isContent, async (route) => {
    paths.add(new URL(route.request().url()).pathname)
    await route.fulfill({
      status: 503,
      json: { error: { type: 'unavailable', message: 'The database is away.' } },
    })
  })
  return { paths, release: () => page.unrouteAll({ behavior: 'wait' }) }
}

/** The page's text without title, errors, placeholders and controls. */
const wordsOn = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
    const words = new Set()
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode
      if (data.trim() === '' || !parentElement.checkVisibility()) continue
      if (parentElement.closest('header, h1, pre, code, button, option, [role=alert], [role=status], [aria-hidden=true]')) continue
      words.add(data.trim())
    }
    return [...words]
  })()`)

const retries = (page: Page, within = 'body') =>
  page.locator(`${within} [role=alert]`).getByRole('button', { name: 'Try again' })
const loading = (page: Page) => page.getByRole('status', { name: /^Loading/ })

/** Opens the page while nothing can be loaded, then retries. Returns the problems. */
async function faultsOf({ page, wrongs }: Visitor, route: string, frame: ReadonlySet<string>): Promise<string[]> {
  const { paths, release } = await failAll(page)
  await page.goto(addressOf(route))
  if (frame.size > 0) await retries(page).first().waitFor()
  else {
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle')
  }
  await until(
    () => page.locator('main').innerText(),
    (text) => text.trim() !== '',
  )
  // Failed requests of the frame are reported above the page.
  if ([...paths].some((path) => !frame.has(path))) await retries(page, 'main').first().waitFor()
  await becomes(() => loading(page).count(), 0)
  const failed = await wordsOn(page)
  await release()
  await tryAgain(page)
  await becomes(() => loading(page).count(), 0)
  // A page without its content must not claim that there is none, such as “Nothing here yet”.
  await becomes(async () => {
    const loaded = new Set(await wordsOn(page))
    return failed.filter((words) => !loaded.has(words))
  }, [])
  return faultsIn(wrongs)
}

/** Presses “Try again” until no such button is left. */
async function tryAgain(page: Page): Promise<void> {
  await retries(page).evaluateAll((all: any[]) => {
    for (const one of all) one.click()
  })
  await becomes(() => retries(page).count(), 0)
}

/** Console errors, except those of requests that the test made fail. */
const faultsIn = (wrongs: string[]): string[] =>
  wrongs.splice(0).filter((wrong) => !/status of 503|The database is away/.test(wrong))

/** Calls `act` for each item, spread over a few visitors. Returns the problems by item. */
async function amongVisitors<T>(
  items: readonly [string, T][],
  isSignedIn: boolean,
  act: (visitor: Visitor, item: T) => Promise<string[]>,
): Promise<Record<string, string[]>> {
  const left = [...items]
  const faults: Record<string, string[]> = {}
  const work = async (): Promise<void> => {
    await using visitor = await visit(browser(), server.origin)
    if (isSignedIn) await signIn(visitor.page, scene.aki)
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const found = await act(visitor, next[1]).catch((error: unknown) => [String(error)])
      if (found.length > 0) faults[next[0]] = found
      await visitor.page.unrouteAll({ behavior: 'ignoreErrors' })
    }
  }
  await Promise.all(Array.from({ length: isSignedIn ? 3 : 1 }, work))
  return faults
}

const named = (routes: readonly string[]): [string, string][] => routes.map((route) => [route, route])

test(
  'every page that can’t be loaded shows an error and loads on “Try again”',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, scene.aki)
    const { inside, outside } = await routesOf(page)
    assert.ok(inside.length > 40 && outside.length > 4, [...inside, ...outside].join())
    const frame = await failAll(page)
    await page.goto(addressOf('/$'))
    await retries(page).first().waitFor()
    await frame.release()
    assert.deepEqual(
      {
        ...(await amongVisitors(named(inside), true, (one, route) => faultsOf(one, route, frame.paths))),
        ...(await amongVisitors(named(outside), false, (one, route) => faultsOf(one, route, new Set()))),
      },
      {},
    )
  },
)

test(
  'every dialog and panel that can’t be loaded shows an error and loads on “Try again”',
  needs(hasChromium, 'Chromium'),
  async () => {
    const parts = pagesOf(scene).flatMap(({ name, path, open }): [string, Part][] =>
      open && ACTS.test(String(open)) ? [[name, { name, path, open }]] : [],
    )
    let count = 0
    const faults = await amongVisitors(parts, true, async ({ page, wrongs }, { name, path, open }) => {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await becomes(() => loading(page).count(), 0)
      const { release } = await failAll(page)
      const opened = open(page)
      opened.catch(() => {})
      const refusal = page.getByText('The database is away.').first()
      const outcome = await Promise.race([opened.then(() => 'opened'), refusal.waitFor().then(() => 'refused')])
      if (outcome === 'refused') {
        count++
        if (!PRESSED_AGAIN.has(name)) {
          const covered = (await page.getByRole('dialog').count()) > 0 ? '[role=dialog]' : 'body'
          await retries(page, covered).first().waitFor()
        }
        await release()
        await tryAgain(page)
        await (PRESSED_AGAIN.has(name) ? open(page) : opened)
      } else await release()
      return faultsIn(wrongs)
    })
    assert.deepEqual(faults, {})
    assert.ok(count >= 4, `only ${count} needed the server`)
  },
)

/** Matches functions that open something instead of only waiting for the page. */
const ACTS = /\.(click|press|fill|check|selectOption)\(/

/** Actions such as testing a provider are retried by their own button. */
const PRESSED_AGAIN = new Set(['providers'])

interface Part {
  name: string
  path: string
  open: (page: Page) => Promise<void>
}
