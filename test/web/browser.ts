import { existsSync } from 'node:fs'
import { after, afterEach, before } from 'node:test'
import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core'
import { PATIENCE_MS } from '../until.ts'

const WHOLE = '/usr/bin/chromium'
/** Draws pages as the whole browser does, and opens a window in a third of the time: it has no frame of its own to draw. */
const SHELL = '/usr/bin/chromium-headless-shell'
export const hasChromium = existsSync(WHOLE)

interface Kind {
  /** With all that is not of pages, as pushes. */
  whole?: boolean
  /** Frames without an origin have a process of their own, as in Chromium for desktops. */
  apart?: boolean
}

/** A real Chromium that reaches this machine and nothing else. */
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
      // A microphone that beeps, and that nobody has to allow.
      '--use-fake-device-for-media-stream',
      '--use-fake-ui-for-media-stream',
      '--disable-features=OptimizationHints,MediaRouter,Translate',
    ],
  })

/** One for all the stories of a file: each has a context of its own in it, with nothing of the others. */
export function sharedBrowser(options: Kind = {}): () => Browser {
  let browser: Browser | undefined
  before(async () => {
    if (hasChromium) browser = await openBrowser(options)
  })
  after(() => browser?.close())
  afterEach((story) => {
    const said = leftAt.splice(0)
    // A story that failed says what its visitors saw last. Node says whether it passed, its types do not.
    if (!(story as unknown as { passed: boolean }).passed) for (const one of said) console.error(one)
  })
  return () => browser!
}

/** Where each visitor of the present story stood when they left: address, wrongs and what the page says. */
const leftAt: string[] = []

export interface Visitor extends AsyncDisposable {
  page: Page
  context: BrowserContext
  /** The wrongs that must not have happened: breaches of the policy, faults in the page, and calls to elsewhere. */
  wrongs: string[]
}

/** Somebody with a browser of their own, whose console is listened to. */
export async function visit(
  browser: Browser,
  origin: string,
  options: { theme?: 'light' | 'dark'; width?: number; height?: number; worker?: boolean } = {},
): Promise<Visitor> {
  // It may be built only now. A name below `localhost` is this machine to browsers, and to nobody else.
  const here = origin.replace(/\/\/[\w.-]+\.localhost/, '//127.0.0.1')
  while ((await fetch(`${here}/app`)).status === 503);
  const context = await browser.newContext({
    baseURL: origin,
    colorScheme: options.theme ?? 'light',
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    reducedMotion: 'reduce',
    // What a worker asks for does not pass by the routes of a test.
    serviceWorkers: options.worker ? 'allow' : 'block',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  const wrongs: string[] = []
  page.on('console', (message) => {
    // A refusal that the page shows to its reader is not a fault of it.
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
