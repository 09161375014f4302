// Thorough: run by the merge check, or by name.
/** Operating system users, and a model that doesn't fit on the disk. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pairedBy } from '../../link/daemon.ts'
import { daemonHome, runDaemonAt } from '../../link/run-daemon.ts'
import { shelf } from '../../local-inference/shelf.ts'
import { needs } from '../../needs.ts'
import { temporaryDir } from '../../program.ts'
import { testServer } from '../../server.ts'
import { becomes, PATIENCE_MS } from '../../until.ts'
import { breaches } from '../axe.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()
const mayChangeUsers = process.getuid?.() === 0 && existsSync('/usr/sbin/useradd')
const username = `ukapp${process.pid}`
const PETABYTE = 2 ** 50

const chromium = needs(hasChromium, 'Chromium')

test(
  'users of a machine can be created, edited and deleted, with errors at the field',
  { ...chromium, ...(!mayChangeUsers && { skip: 'needs root' }) },
  async () => {
    await using server = await testServer()
    const alice = await server.person('Alice')
    await using home = daemonHome()
    const paired = await pairedBy(alice)
    await using _daemon = await runDaemonAt(home, server.origin, paired)
    assert.ok(await server.app.engine.links.online(paired.id, PATIENCE_MS))
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    try {
      await signIn(page, alice)
      await page.goto(`/app/computers/${paired.id}/users`)
      await page.getByRole('button', { name: 'Create user' }).click()
      const made = page.getByRole('dialog', { name: 'Create user' })
      await made.getByLabel('Name').fill('Ada')
      await made.getByRole('button', { name: 'Create user' }).press('Enter')
      await made.getByText('Must be a name such as ada.').waitFor()
      await made.getByLabel('Name').fill(username)
      await made.getByLabel('Shell').fill('/bin/sh')
      await made.getByRole('button', { name: 'Create user' }).press('Enter')
      await made.waitFor({ state: 'detached' })
      const row = page.getByRole('list', { name: 'Users' }).getByRole('listitem').filter({ hasText: username })
      await row.getByText('/bin/sh').waitFor()

      const act = async (words: string) => {
        await page.getByRole('button', { name: `More actions for ${username}` }).click()
        await page.getByRole('menuitem', { name: words }).click()
      }
      await act('Edit')
      const changed = page.getByRole('dialog', { name: `Edit user ${username}` })
      await changed.getByLabel('Groups').fill('users, nowhere-at-all')
      await changed.getByRole('button', { name: 'Save user' }).press('Enter')
      await changed.getByText(/'nowhere-at-all' does not exist/).waitFor()
      await becomes(() => changed.getByLabel('Groups').getAttribute('aria-invalid'), 'true')
      assert.deepEqual(await breaches(page), [])
      await changed.getByLabel('Groups').fill('users')
      await changed.getByRole('button', { name: 'Save user' }).press('Enter')
      await row.getByText(/in users/).waitFor()
      assert.match(execFileSync('id', ['-nG', username], { encoding: 'utf8' }), /\busers\b/)

      await act('Delete')
      const gone = page.getByRole('dialog', { name: `Delete user ${username}?` })
      await gone.getByLabel('Delete the home folder and mail').check()
      await gone.getByRole('button', { name: 'Delete user' }).press('Enter')
      await gone.waitFor({ state: 'detached' })
      await row.waitFor({ state: 'detached' })
      assert.equal(existsSync(`/home/${username}`), false)
    } finally {
      spawnSync('/usr/sbin/userdel', ['-r', username])
    }
    const refusal = /status of 4\d\d/
    assert.deepEqual(
      visitor.wrongs.filter((wrong) => !refusal.test(wrong)),
      [],
    )
  },
)

test('installing a model on a full disk shows the available and the needed space', chromium, async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  await using home = daemonHome()
  await using models = await shelf({ '/huge.gguf': Buffer.alloc(1) })
  const paired = await pairedBy(alice)
  await using _daemon = await runDaemonAt(home, server.origin, paired, { engines: { local: [models.host] } })
  assert.ok(await server.app.engine.links.online(paired.id, PATIENCE_MS))
  models.next.push((_, response) => {
    response.writeHead(200, { etag: '"huge"', 'content-length': PETABYTE })
    response.flushHeaders()
  })
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, alice)
  await page.goto(`/app/computers/${paired.id}/models`)
  await page.getByRole('button', { name: 'Install model' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Install model' })
  await dialog.getByText(/of disk space available/).waitFor()
  await dialog.getByLabel('URL').fill(`${models.origin}/huge.gguf`)
  await dialog.getByRole('button', { name: 'Install model' }).press('Enter')
  await page
    .getByRole('list', { name: 'Installations' })
    .getByText(/^The computer has [\d.]+ \w+ of disk space left, and the model needs [\d.,]+ \w+ more\./)
    .waitFor()
  assert.deepEqual(await breaches(page), [])
  assert.deepEqual(visitor.wrongs, [])
})

test('the Files page of a machine whose home is not allowed opens at its first allowed folder', chromium, async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  await using home = daemonHome()
  using room = temporaryDir()
  writeFileSync(join(room.path, 'notes.txt'), 'notes')
  const paired = await pairedBy(alice)
  await using _daemon = await runDaemonAt(home, server.origin, paired, { roots: [room.path] })
  assert.ok(await server.app.engine.links.online(paired.id, PATIENCE_MS))
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, alice)
  await page.goto(`/app/computers/${paired.id}/files`)
  await page.getByRole('list', { name: 'Files' }).getByRole('button', { name: 'notes.txt', exact: true }).waitFor()
  assert.deepEqual(visitor.wrongs, [])
})
