// Thorough: run by the merge check, or by name.
/** Selecting files with a mouse-drawn box. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { upload } from '#test/drive/drive.ts'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

test(
  'a box selects files, Ctrl extends, Escape clears, and dragging moves files',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer()
    const alice = await server.person('Alice')
    for (const name of ['a', 'b', 'c', 'd'])
      await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from(name), `${name}.txt`)
    await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'Prints' })
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto('/app/drive')
    const box = async (name: string) => {
      const found = page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
      await found.waitFor()
      return (await found.boundingBox())!
    }
    const selected = async () =>
      (await page.locator('[role=row][aria-selected=true]').getByRole('link').allInnerTexts()).toSorted()
    const draw = async (from: { x: number; y: number }, to: { x: number; y: number }) => {
      await page.mouse.move(from.x, from.y)
      await page.mouse.down()
      await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2)
      await page.mouse.move(to.x, to.y)
      await page.locator('[data-marquee]').waitFor()
    }

    // In the list, a box starts in a row next to the name.
    const [b, c, d] = [await box('b.txt'), await box('c.txt'), await box('d.txt')]
    const right = (of: typeof b) => ({ x: of.x + of.width - 120, y: of.y + of.height / 2 })
    await draw(right(b), { x: right(c).x - 90, y: right(c).y })
    await page.mouse.up()
    await page.getByText('2 of 5 selected').waitFor()
    assert.deepEqual(await selected(), ['b.txt', 'c.txt'])
    await page.keyboard.down('Control')
    await draw(right(d), { x: right(d).x - 60, y: right(d).y + 4 })
    await page.mouse.up()
    await page.keyboard.up('Control')
    await page.getByText('3 of 5 selected').waitFor()
    await page.keyboard.press('Escape')
    assert.deepEqual(await selected(), [])
    await draw(right(b), { x: right(c).x - 90, y: right(c).y })
    await page.keyboard.press('Escape')
    await page.locator('[data-marquee]').waitFor({ state: 'detached' })
    await page.mouse.up()
    assert.deepEqual(await selected(), [])

    // In the grid, a box starts between tiles.
    await page.getByRole('button', { name: 'Grid view' }).click()
    await page.getByRole('button', { name: 'List view' }).waitFor()
    // Four per row, d below the folder: it is left of the box.
    const [first, last, below] = [await box('a.txt'), await box('c.txt'), await box('d.txt')]
    assert.ok(below.y > first.y && below.x + below.width < first.x)
    const beside = { x: last.x + last.width / 2, y: below.y + 60 }
    await draw(beside, { x: first.x + 5, y: first.y + 60 })
    await page.mouse.up()
    await page.getByText('3 of 5 selected').waitFor()
    assert.deepEqual(await selected(), ['a.txt', 'b.txt', 'c.txt'])
    // A click on empty space clears the selection.
    await page.mouse.click(beside.x, beside.y)
    await page.getByText('3 of 5 selected').waitFor({ state: 'detached' })
    await page
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: 'd.txt', exact: true }) })
      .dragTo(page.getByRole('row').filter({ has: page.getByRole('link', { name: 'Prints', exact: true }) }))
    await page.getByRole('grid').getByRole('link', { name: 'd.txt' }).waitFor({ state: 'detached' })
    assert.deepEqual(visitor.wrongs, [])
  },
)
