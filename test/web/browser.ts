import { existsSync } from 'node:fs'
import { after, afterEach, before } from 'node:test'
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core'
import { PATIENCE_MS } from '../until.ts'

const WHOLE = '/usr/bin/chromium'
/** Renders pages like the full browser, and opens windows three times as fast, since it draws no window frame. */
const SHELL = '/usr/bin/chromium-headless-shell'
export const hasChromium = existsSync(WHOLE)

interface Kind {
  /** The full browser, for features outside of pages such as push. */
  whole?: boolean
  /** Frames with an opaque origin get their own process, as in Chromium for desktops. */
  apart?: boolean
}

/** A real Chromium without network access beyond this machine. */
export const openBrowser = ({ whole = false, apart = false }: Kind = {}): Promise<Browser> =>
  chromium.launch({
    executablePath: !whole && existsSync(SHELL) ? SHELL : WHOLE,
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ...(apart ? ['--site-per-process'] : []),
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost',
      '--no-proxy-server',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-domain-reliability',
      '--disable-sync',
      '--no-first-run',
      // A fake microphone that needs no permission.
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      '--disable-features=OptimizationHints,MediaRouter,Translate',
    ],
  })

/** One browser per test file; each test has its own context. */
export function sharedBrowser(options: Kind = {}): () => Browser {
  let browser: Browser | undefined
  before(async () => {
    if (hasChromium) browser = await openBrowser(options)
  })
  after(() => browser?.close())
  afterEach((story) => {
    const said = leftAt.splice(0)
    // A failed test prints the last state of its pages. `passed` is missing in Node's types.
    if (!(story as unknown as { passed: boolean }).passed) for (const one of said) console.error(one)
  })
  return () => browser!
}

/** The last state of each page in the current test: address, errors and content. */
const leftAt: string[] = []

export interface Visitor extends AsyncDisposable {
  page: Page
  context: BrowserContext
  /** Errors that fail a test: policy violations, page errors, and external requests. */
  wrongs: string[]
}

/** A browser context whose console errors are collected. */
export async function visit(
  browser: Browser,
  origin: string,
  options: { theme?: 'light' | 'dark'; width?: number; height?: number; worker?: boolean } = {},
): Promise<Visitor> {
  // The app may still be building. Browsers resolve `*.localhost` to this machine.
  const here = origin.replace(/\/\/[\w.-]+\.localhost/, '//127.0.0.1')
  while ((await fetch(`${here}/app`)).status === 503);
  const context = await browser.newContext({
    baseURL: origin,
    colorScheme: options.theme ?? 'light',
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    reducedMotion: 'reduce',
    // Requests from workers bypass the routes of a test.
    serviceWorkers: options.worker ? 'allow' : 'block',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  const wrongs: string[] = []
  page.on('console', (message) => {
    // Expected rejections aren't errors of the page.
    const refused = /Failed to load resource.*status of 4/.test(message.text())
    if (message.type() === 'error' && !refused) wrongs.push(message.text())
  })
  page.on('pageerror', (error) => wrongs.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) wrongs.push(`a request to ${request.url()}`)
  })
  const leave = async (): Promise<void> => {
    const shown = await page.locator('body').ariaSnapshot({ timeout: 2_000 }).catch(String)
    leftAt.push([page.url(), ...wrongs, shown.slice(-6_000)].join('\n'))
    await context.close()
  }
  return { page, context, wrongs, [Symbol.asyncDispose]: leave }
}
