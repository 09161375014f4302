// Thorough: run by the merge check, or by name.
/** The drive: interrupted uploads, previews, edits, versions, sharing, and malicious files. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { upload } from '#test/drive/drive.ts'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { becomes, until } from '../until.ts'
import { hasChromium, sharedBrowser, visit } from './browser.ts'
import { signIn } from './steps.ts'

const browser = sharedBrowser()

const tray = (page: Page) => page.getByRole('region', { name: 'Uploads' })
const choose = (page: Page) => page.locator('input[data-upload=files]').first()
const grid = (page: Page) => page.getByRole('grid')
const file = (name: string, words: string) => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: Buffer.from(words),
})

/** Whether the browser would confirm leaving the page. */
const WOULD_ASK = `!dispatchEvent(new Event('beforeunload', { cancelable: true }))`

test(
  'the drive resumes uploads, edits, compares, moves, trashes, searches and shares files; guests read; others get 404',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer()
    const [alice, bob, carol] = [await server.person('Alice'), await server.person('Bob'), await server.person('Carol')]
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto('/app/drive')
    await page.getByText('This folder is empty').waitFor()
    await page.getByRole('button', { name: 'Create folder' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Prints')
    await page.getByRole('dialog').getByRole('button', { name: 'Create folder' }).click()
    await grid(page).getByRole('link', { name: 'Prints' }).waitFor()
    await grid(page).focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Prints' }).waitFor()
    const folderId = page.url().split('/').at(-1)!

    // The second chunk never arrives; after a reload, the upload resumes from the first.
    const bytes = randomBytes(9 << 20)
    const offsets: string[] = []
    let isCut = true
    await page.route('**/v1/drive/uploads/*', (route) => {
      const request = route.request()
      if (request.method() !== 'PATCH') return route.continue()
      const offset = request.headers()['upload-offset']!
      offsets.push(offset)
      return isCut && offset !== '0' ? route.abort('connectionreset') : route.continue()
    })
    await choose(page).setInputFiles({ name: 'waves.bin', mimeType: 'application/octet-stream', buffer: bytes })
    await tray(page).getByText('Connection lost').waitFor()
    await page.getByRole('link', { name: 'Inbox' }).click()
    await tray(page).getByText('waves.bin').waitFor()
    await page.goto(`/app/drive/f/${folderId}`)
    await tray(page).getByText('waves.bin').waitFor()
    isCut = false
    await tray(page).getByText('1 upload complete').waitFor()
    await grid(page).getByRole('link', { name: 'waves.bin' }).waitFor()
    assert.equal(offsets[0], '0')
    assert.ok(
      offsets.slice(1).every((offset) => offset === String(8 << 20)),
      offsets.join(),
    )
    const rows = (await alice.get(`/drive/files?parent_id=${folderId}`)).body.data
    assert.equal(rows[0].sha256, createHash('sha256').update(bytes).digest('hex'))
    const lost = visitor.wrongs.splice(0).filter((wrong) => !wrong.includes('ERR_CONNECTION_RESET'))
    assert.deepEqual(lost, [])

    // Name conflicts are up to the person.
    await choose(page).setInputFiles([
      file('notes.md', '# Views\n\nof **the mountain**\n'),
      file('run.ts', 'const a = 1\n'),
    ])
    await grid(page).getByRole('link', { name: 'notes.md' }).waitFor()
    await choose(page).setInputFiles(file('notes.md', '# Views\n\nof **the lake**\n'))
    await tray(page).getByText('A file with this name already exists').waitFor()
    await tray(page).getByRole('button', { name: 'Replace as new version' }).click()
    await tray(page).getByText('uploads complete').waitFor()
    await tray(page).getByRole('button', { name: 'Close uploads' }).click()

    // An edit conflict shows both versions.
    await grid(page).getByRole('link', { name: 'notes.md' }).click()
    await page.getByRole('heading', { name: 'Views' }).waitFor()
    const fileId = page.url().split('/').at(-1)!
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    const editor = page.getByRole('textbox', { name: 'Text of notes.md' })
    await editor.focus()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('at dawn\n')
    await until(() => page.evaluate<boolean>(WOULD_ASK), Boolean)
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Prints' }).click()
    await page
      .getByRole('alertdialog', { name: 'Leave without saving?' })
      .getByRole('button', { name: 'Keep editing' })
      .click()
    await editor.getByText('at dawn').waitFor()
    await editor.focus()
    await alice.patch(`/drive/files/${fileId}`, { content: '# Views\n\nof **the sea**\n' })
    await page.getByText('Another user saved version 3.').waitFor()
    await page.keyboard.press('Control+s')
    await page.getByRole('alertdialog', { name: 'Conflict' }).getByText('of **the sea**').waitFor()
    await page.getByRole('button', { name: 'Save your version' }).click()
    await page.getByText('Version 4', { exact: true }).waitFor()
    await until(() => page.evaluate<boolean>(`!(${WOULD_ASK})`), Boolean)
    assert.equal((await alice.get(`/drive/files/${fileId}`)).text, '# Views\n\nof **the lake**\nat dawn\n')
    await page.getByRole('button', { name: 'Done' }).click()

    await page.getByRole('button', { name: 'Versions', exact: true }).click()
    const versions = page.getByRole('complementary', { name: 'Versions' })
    const fourth = versions.getByRole('listitem').filter({ hasText: 'Version 4' })
    await fourth.getByRole('button', { name: 'Show changes' }).click()
    await versions.getByRole('region', { name: 'Changes', exact: true }).getByText('at dawn').waitFor()
    await versions.getByRole('button', { name: 'Restore version 3' }).click()
    await page.getByText('of the sea').waitFor()
    assert.equal((await alice.get(`/drive/files/${fileId}`)).text, '# Views\n\nof **the sea**\n')

    await page.getByRole('button', { name: 'Share', exact: true }).click()
    await page.getByLabel('Email').fill(bob.email)
    await page.getByRole('button', { name: 'Share file' }).click()
    await page.getByText('Send them this link.').waitFor()
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByText('Copied').waitFor()
    const link = await page.evaluate<string>('navigator.clipboard.readText()')
    await bob.post('/invitations/accept', { token: new URL(link).hash.replace(/^#(token=)?/, '') })
    await page.getByRole('button', { name: 'Done' }).click()

    await using his = await visit(browser(), server.origin)
    await signIn(his.page, bob)
    await his.page.goto('/app/shared-with-me')
    await his.page.getByRole('link', { name: 'notes.md' }).click()
    await his.page.getByText('of the sea').waitFor()
    await becomes(() => his.page.getByRole('button', { name: 'Edit', exact: true }).count(), 0)
    await using hers = await visit(browser(), server.origin)
    await signIn(hers.page, carol)
    await hers.page.goto(`/app/drive/file/${fileId}`)
    await hers.page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor()

    // By keyboard: trash a range, undo, search to a line; changes by others appear at once.
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Prints' }).click()
    await grid(page).getByRole('link', { name: 'run.ts' }).waitFor()
    await alice.post('/drive/files', { parent_id: folderId, name: 'z-new.txt', content: 'first\nneedle here\n' })
    await grid(page).getByRole('link', { name: 'z-new.txt' }).waitFor()
    await grid(page)
      .getByRole('row', { name: /run\.ts/ })
      .click({ position: { x: 400, y: 10 } })
    await page.keyboard.press('Shift+ArrowDown')
    await page.getByText('2 of 4 selected').waitFor()
    await page.keyboard.press('#')
    await grid(page).getByRole('link', { name: 'run.ts' }).waitFor({ state: 'detached' })
    await page.keyboard.press('z')
    await grid(page).getByRole('link', { name: 'run.ts' }).waitFor()
    await grid(page).focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('F2')
    await page.getByLabel('New name of notes.md').fill('views.md')
    await page.keyboard.press('Enter')
    await grid(page).getByRole('link', { name: 'views.md' }).waitFor()
    await grid(page).focus()
    await page.keyboard.press('/')
    await page.keyboard.type('needle')
    await page.getByRole('region', { name: 'z-new.txt' }).getByRole('link').click()
    await page.getByRole('textbox', { name: 'Text of z-new.txt' }).getByText('needle here').waitFor()
    await alice.delete(`/drive/files/${fileId}`)
    await page.goto('/app/drive/trash')
    await page.getByText('30 days left').waitFor()
    await page.getByRole('button', { name: 'Restore views.md' }).click()
    await page.getByText('Trash is empty').waitFor()
    assert.deepEqual([...visitor.wrongs, ...his.wrongs, ...hers.wrongs], [])
  },
)

test(
  'malicious files run no scripts, load nothing and cannot disguise their names',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer()
    const alice = await server.person('Alice')
    const script = '<script>document.title = "taken"; fetch("https://evil.example/")</script>'
    const hostile: Record<string, string> = {
      'page.html': `<!doctype html><title>x</title>${script}<img src="https://evil.example/a.png" onerror="alert(1)">`,
      'drawing.svg': `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="40" onload="alert(2)"><script>alert(3)</script><image xlink:href="https://evil.example/b.png" width="9" height="9"/><foreignObject>${script}</foreignObject><rect width="9" height="9"/></svg>`,
      'text.md': `# Hello\n\n${script}\n\n![x](https://evil.example/c.png) [run](javascript:alert(4))`,
      'photo\u200fgpj.exe': 'MZ',
      '<img src=x onerror=alert(5)>.txt': `a\u202eb ${script}`,
      'fake.png': script,
    }
    const ids: Record<string, string> = {}
    for (const [name, words] of Object.entries(hostile)) {
      const made = await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from(words), name)
      assert.equal(made.status, 201, made.text)
      ids[name] = made.body.data.id
    }
    const misleading = await upload(
      alice,
      { workspace_id: alice.workspaceId },
      Buffer.from('MZ'),
      'photo\u202e\u200fgpj.exe',
    )
    assert.deepEqual([misleading.status, misleading.body.error.param], [400, 'file'])
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    page.on('dialog', (dialog) => {
      visitor.wrongs.push(`a dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    await signIn(page, alice)
    await page.goto('/app/drive')
    await grid(page).getByRole('link', { name: 'photo⟨U+200F⟩gpj.exe' }).waitFor()
    await grid(page).getByRole('link', { name: '<img src=x onerror=alert(5)>.txt' }).waitFor()
    for (const [name, id] of Object.entries(ids)) {
      await page.goto(`/app/drive/file/${id}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (name === 'drawing.svg')
        while (
          !(await page
            .getByRole('img', { name })
            .evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth > 0))
        );
      else if (name.startsWith('photo')) await page.getByText('No preview').waitFor()
      else if (name === 'text.md') await page.getByText('<script>').first().waitFor()
      else
        await page
          .getByRole('textbox', { name: /^Text of/ })
          .getByText('<script>')
          .first()
          .waitFor()
      assert.match(await page.title(), /Drive · Ukiyo$/)
      await becomes(() => page.locator('main script, main iframe, main object, main embed').count(), 0)
    }
    assert.deepEqual(visitor.wrongs, [])
  },
)
