// Thorough: run by the merge check, or by name.
/** Computers: the owner works on one, a member can only run commands, others see nothing. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FrameLocator, Page } from 'playwright-core'
import { run } from '#modules/computers/drivers/run.ts'
import { testDatabase } from '../../database.ts'
import { type RunningDaemon, daemonHome, runDaemonAt } from '../../link/run-daemon.ts'
import { shelf } from '../../local-inference/shelf.ts'
import { teamOf } from '../../makers.ts'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { tinyGguf } from '../../local-inference/tiny-gguf.ts'
import { until } from '../../until.ts'
import { breaches } from '../axe.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

const frameOf = (page: Page): FrameLocator =>
  page.locator('iframe[src="/app/frame/terminal"]:not([tabindex="-1"])').contentFrame()
/** The visible text of the terminal, by row. */
const screenOf = async (page: Page): Promise<string> =>
  (await frameOf(page).locator('.xterm-rows > div').allInnerTexts()).join('\n').replaceAll('\u00A0', ' ')
const shows = (page: Page, what: RegExp): Promise<string> =>
  until(
    () => screenOf(page),
    (screen) => what.test(screen),
  )

test(
  'a connected computer keeps its terminals over reloads and restarts, and shared access is enforced',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using database = await testDatabase()
    const folder = mkdtempSync(join(tmpdir(), 'computers-page-'))
    await using stack = new AsyncDisposableStack()
    stack.defer(() => rmSync(folder, { recursive: true, force: true }))
    let server = await testServer({ database })
    stack.defer(() => server[Symbol.asyncDispose]())
    const alice = await server.person('Alice')
    const bob = await server.person('Bob')
    const carol = await server.person('Carol')
    const team = await teamOf(alice, [[bob, 'member']])
    await using home = daemonHome()
    const model = tinyGguf().bytes
    const shelves = {
      slow: stack.use(await shelf({ '/slow.gguf': model }, { bytesPerSecond: 4_000 })),
      quick: stack.use(await shelf({ '/quick.gguf': model })),
    }
    let daemon: RunningDaemon | null = null
    stack.defer(() => daemon?.[Symbol.asyncDispose]())

    await using hers = await visit(browser(), server.origin)
    const { page } = hers
    await signIn(page, alice)
    await page.getByRole('link', { name: 'Computers' }).click()
    await page.getByRole('heading', { level: 1, name: 'Computers' }).waitFor()
    await page.getByRole('button', { name: 'Connect computer' }).first().click()
    await page.getByLabel('Name').fill('Shed')
    await page.getByRole('button', { name: 'Create command' }).click()
    const dialog = page.getByRole('dialog', { name: 'Run this command on the computer' })
    await dialog.getByRole('img', { name: 'QR code of the first command' }).waitFor()
    await dialog.getByText('Waiting for the computer').waitFor()
    assert.deepEqual(await breaches(page), [])
    const command = await dialog.getByText('curl -fsS').innerText()
    const token = /UK_PAIR_TOKEN=(ukp_\w+)/.exec(command)![1]
    const about = { os: 'linux', arch: 'x64', hostname: 'shed', daemon_version: '1.0.0', protocol: 2 }
    const paired = (await server.stranger.post('/computers/pair', { token, ...about })).body.data
    const { id } = paired.computer
    const local = [shelves.slow.host, shelves.quick.host]
    daemon = await runDaemonAt(home, server.origin, { id, credential: paired.credential }, { engines: { local } })
    await dialog.getByText('Computer connected.').waitFor()
    await dialog.getByRole('button', { name: 'Open computer' }).click()

    await page.getByRole('heading', { level: 1, name: 'Shed' }).waitFor()
    await page.getByText('online', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Open terminal' }).click()
    const input = () => frameOf(page).locator('.xterm-helper-textarea')
    await input().pressSequentially('echo heron-$((6*7))\n')
    await shows(page, /^heron-42$/m)
    // The terminal has the size of the window.
    const size = await until(
      async () => (await alice.post(`/computers/${id}/terminal`, { action: 'list' })).body.data[0],
      ({ cols }) => cols > 80,
    )
    assert.ok(size.rows > 24, `${size.cols} by ${size.rows}`)
    await page.reload()
    await shows(page, /^heron-42$/m)
    // Answers to replayed terminal queries aren't sent again.
    await input().pressSequentially('echo again\n')
    const screen = await shows(page, /^again$/m)
    assert.equal(screen.match(/^heron-42$/gm)!.length, 1, screen)

    // Search, and the bell of a hidden terminal.
    await input().press('Control+Shift+KeyF')
    await page.getByLabel('Find in terminal').fill('no such words')
    await page.getByText('No results').waitFor()
    await page.keyboard.press('Escape')
    await input().pressSequentially('sleep 2; printf "\\a"\n')
    await page.getByRole('button', { name: 'Open terminal' }).click()
    await page.getByText('Bell').waitFor({ state: 'attached' })
    await input().press('Control+Alt+ArrowRight')
    await page.getByText('Bell').waitFor({ state: 'detached' })
    assert.deepEqual(await breaches(page), [])

    // Phones get additional keys.
    await page.setViewportSize({ width: 390, height: 800 })
    await input().pressSequentially('echo here-$((1+1)); cat\n')
    await shows(page, /^here-2$/m)
    const keys = page.getByRole('group', { name: 'Keys' })
    await keys.getByRole('button', { name: 'Control' }).click()
    await keys.getByRole('button', { name: 'Control', pressed: true }).waitFor()
    await input().press('c')
    await shows(page, /\^C/)
    await input().pressSequentially('echo tap-$((2*4))\n')
    await shows(page, /^tap-8$/m)
    // These keys take longer than those of the keyboard.
    await keys.getByRole('button', { name: 'Up' }).click()
    await shows(page, /echo tap[^]*echo tap/)
    await input().press('Enter')
    await shows(page, /^tap-8$[^]*^tap-8$/m)
    await page.setViewportSize({ width: 1280, height: 800 })

    // Files: edit, rename and upload.
    writeFileSync(join(folder, 'notes.txt'), 'quince\n')
    await page.goto(`/app/computers/${id}/files?path=${encodeURIComponent(folder)}`)
    const files = page.getByRole('list', { name: 'Files' })
    await files.getByRole('button', { name: 'notes.txt', exact: true }).click()
    await page.getByLabel('Text of notes.txt').fill('quince and heron\n')
    // A concurrent change: typed text is kept, and the person decides.
    const read: string[] = []
    page.on('request', (request) => request.url().includes('/fs/download') && read.push(request.url()))
    writeFileSync(join(folder, 'notes.txt'), 'quince, and nothing else\n')
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
    await page.getByRole('button', { name: 'Save file' }).click()
    await page.getByText('The file changed on the computer').waitFor()
    assert.deepEqual(read, [])
    await page.getByRole('button', { name: 'Overwrite file' }).click()
    await page.getByLabel('Text of notes.txt').waitFor({ state: 'detached' })
    assert.equal(readFileSync(join(folder, 'notes.txt'), 'utf8'), 'quince and heron\n')
    await files.getByRole('button', { name: 'More actions for notes.txt' }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('birds.txt')
    await page.getByRole('dialog', { name: 'Rename notes.txt' }).getByRole('button', { name: 'Rename' }).click()
    await files.getByRole('button', { name: 'birds.txt', exact: true }).waitFor()
    const sent = 'x'.repeat(9_000_000)
    await page
      .getByLabel('Files to upload')
      .setInputFiles({ name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.from(sent) })
    await files.getByText('large.bin').waitFor()
    assert.equal(readFileSync(join(folder, 'large.bin'), 'utf8'), sent)
    await files.getByRole('button', { name: 'More actions for birds.txt' }).click()
    await page.getByRole('menuitem', { name: 'Copy to drive …' }).click()
    await page.getByRole('button', { name: 'Copy to drive', exact: true }).click()
    await until(
      async () => (await alice.get('/drive/files')).body.data,
      (rows) => rows.length === 1 && rows[0].name === 'birds.txt',
    )
    await page.getByRole('dialog', { name: 'Copy birds.txt to drive' }).waitFor({ state: 'detached' })

    // Model installation: progress, cancellation, and a retry.
    await page.goto(`/app/computers/${id}/models`)
    const install = async (address: string): Promise<void> => {
      await page.getByRole('button', { name: 'Install model' }).click()
      const asked = page.getByRole('dialog', { name: 'Install model' })
      await asked.getByLabel('URL').fill(address)
      await asked.getByRole('button', { name: 'Install model' }).click()
      await asked.waitFor({ state: 'detached' })
    }
    await install(`${shelves.slow.origin}/slow.gguf`)
    const installs = page.getByRole('list', { name: 'Installations' })
    await installs.getByText(/^[1-9][\d.]* Ki?B of /).waitFor()
    await installs.getByRole('button', { name: 'Cancel installation of slow' }).click()
    await installs.waitFor({ state: 'detached' })
    await install(`${shelves.quick.origin}/none.gguf`)
    await installs.getByText('The model’s server returned status 404.').waitFor()
    await install(`${shelves.quick.origin}/quick.gguf`)
    await page.getByRole('list', { name: 'Local models' }).getByText('4,096 token context').waitFor()
    await page.getByText('local/quick').waitFor()

    // Shared for commands only: other tabs explain what is missing.
    await page.getByRole('link', { name: 'Sharing' }).click()
    await page.getByRole('button', { name: 'Share computer' }).click()
    await page.getByLabel('Commands').check()
    await page.getByRole('dialog', { name: 'Share Shed' }).getByRole('button', { name: 'Share computer' }).click()
    await page.getByRole('list', { name: 'Workspaces with access' }).getByText('Team').waitFor()
    await using his = await visit(browser(), server.origin)
    await signIn(his.page, bob)
    await his.page.goto('/app/computers')
    await his.page.getByLabel('Your permissions on Shed').getByText('Commands').waitFor()
    await his.page.goto(`/app/computers/${id}/terminal`)
    await his.page.getByText('You don’t have the “Terminals” permission on Shed.').waitFor()
    assert.equal((await bob.post(`/computers/${id}/terminal`, { action: 'list' })).status, 403)
    // New permissions apply at once.
    const lend = (...capabilities: string[]) => alice.patch(`/computers/${id}/exposures/${team}`, { capabilities })
    await lend('exec', 'terminal', 'ports')
    await his.page.getByRole('list', { name: 'Terminals' }).waitFor()
    // A page on a port has its own origin, until access is removed.
    const site = createServer((_, answer) => answer.end('of the shed')).listen(0, '127.0.0.1')
    stack.defer(() => void site.close())
    await once(site, 'listening')
    const { port: sitePort } = site.address() as AddressInfo
    await his.page.getByRole('link', { name: 'Ports' }).click()
    const coming = his.context.waitForEvent('page')
    await his.page.getByRole('button', { name: `Open port ${sitePort}` }).click()
    const shown = await coming
    await shown.getByText('of the shed').waitFor()
    assert.match(new URL(shown.url()).hostname, /\.localhost$/)
    await lend('exec', 'terminal')
    await until(
      async () => (await shown.reload())!.status(),
      (status) => status === 403,
    )
    await his.page.getByText('You don’t have the “Ports” permission on Shed.').waitFor()
    await using strange = await visit(browser(), server.origin)
    await signIn(strange.page, carol)
    await strange.page.goto(`/app/computers/${id}/terminal`)
    await strange.page.getByText('Not found, or you don’t have access').waitFor()

    // Server restart: input typed meanwhile is sent once.
    await page.getByRole('link', { name: 'Terminal' }).click()
    // Wait for the command: input that arrives before it goes to the shell unchanged.
    await input().pressSequentially('echo there-$((1+1)); cat\n')
    await shows(page, /^there-2$/m)
    const { port } = new URL(server.origin)
    await server[Symbol.asyncDispose]()
    await page.getByText('Connection lost. Reconnecting').waitFor()
    await input().pressSequentially('while it was away\n')
    server = await testServer({ database, environment: { UK_PORT: port } })
    await until(
      () => screenOf(page),
      (now) => now.match(/while it was away/g)?.length === 2,
    )
    // Offline computers show when they were last seen.
    await daemon[Symbol.asyncDispose]()
    daemon = null
    await page.getByText('Shed is offline.').waitFor()
    await page.getByRole('link', { name: 'Settings', exact: true }).click()
    await page.getByText('last seen').first().waitFor()
    await page.getByRole('button', { name: 'Delete Shed' }).click()
    await page.getByLabel('Type Shed to confirm').fill('Shed')
    await page.getByRole('button', { name: 'Delete computer' }).click()
    await page.getByRole('heading', { level: 1, name: 'Computers' }).waitFor()
    await page.getByText('Connect your own computer').waitFor()
    const away = /ERR_CONNECTION_REFUSED|status of 5|WebSocket|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/
    assert.deepEqual(
      [...hers.wrongs, ...his.wrongs, ...strange.wrongs].filter((wrong) => !away.test(wrong)),
      [],
    )
  },
)

const sandboxes = hasChromium && (await run(['bwrap', '--version'])).code === 0

test(
  'cloud computers can be created, validated, snapshotted, transferred and restored',
  needs(sandboxes, 'Chromium and bubblewrap'),
  async () => {
    await using server = await testServer({ environment: { UK_COMPUTER_DRIVERS: 'bubblewrap' } })
    const alice = await server.person('Alice')
    const bob = await server.person('Bob')
    await teamOf(alice, [[bob, 'member']])
    await using hers = await visit(browser(), server.origin)
    const { page } = hers
    await signIn(page, alice)
    await page.goto('/app/computers')
    const dialog = page.getByRole('dialog', { name: 'Create cloud computer' })
    const make = async (name: string): Promise<string> => {
      await page.getByRole('button', { name: 'Create cloud computer' }).click()
      await dialog.getByLabel('Name').fill(name)
      await dialog.getByLabel('Memory in MiB').fill('512')
      if (name === 'Twin') await dialog.getByLabel('Home folder').selectOption({ index: 1 })
      await dialog.getByRole('button', { name: 'Create computer' }).click()
      const row = page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) })
      await row.getByText('online', { exact: true }).waitFor()
      await row.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
      return page.url().split('/computers/')[1]!.split('/')[0]!
    }
    await page.getByRole('button', { name: 'Create cloud computer' }).click()
    await dialog.getByLabel('Name').fill('Box')
    await dialog.getByLabel('Memory in MiB').fill('5')
    await dialog.getByRole('button', { name: 'Create computer' }).click()
    await dialog.getByText('Must be at least 128.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    const box = await make('Box')
    await alice.post(`/computers/${box}/exec`, { command: 'echo one > kept.txt' })
    await page.getByRole('link', { name: 'Users' }).click()
    await page.getByText('“Users” isn’t available on cloud computers').waitFor()
    await page.getByRole('link', { name: 'Settings', exact: true }).click()
    await page.getByRole('button', { name: 'Create snapshot' }).click()
    await page.getByRole('button', { name: 'Create computer' }).waitFor()
    await page.getByRole('button', { name: 'Stop computer' }).click()
    await page.getByText('Box is stopped. Its files are kept').waitFor()
    await page.getByRole('button', { name: 'Start computer' }).click()
    await page.getByText('online', { exact: true }).first().waitFor()

    await page.getByRole('button', { name: 'Transfer Box' }).click()
    const giving = page.getByRole('dialog', { name: 'Transfer ownership of Box?' })
    await giving.getByLabel('New owner').selectOption('Bob')
    assert.deepEqual(await breaches(page), [])
    await giving.getByRole('button', { name: 'Transfer ownership' }).click()
    await page.getByText('Connect your own computer').waitFor()
    assert.equal((await alice.get(`/computers/${box}`)).status, 404)
    assert.equal((await bob.get(`/computers/${box}`)).body.data.owner.id, bob.id)
    await bob.delete(`/computers/${box}`)

    await make('Twin')
    await page.getByRole('link', { name: 'Files', exact: true }).click()
    await page.getByRole('button', { name: 'kept.txt', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Settings', exact: true }).click()
    await page.getByRole('button', { name: 'Delete Twin' }).click()
    await page.getByLabel('Type Twin to confirm').fill('Twin')
    await page.getByRole('button', { name: 'Delete computer' }).click()
    await page.getByText('Connect your own computer').waitFor()
    assert.deepEqual(hers.wrongs, [])
  },
)
