/** A page ends at about 8 MB, and the pages together are the list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageOf } from '#core/paging.ts'
import { testServer } from '../server.ts'

test('a page has one row or as many as fit', () => {
  const rows = [9_000_000, 5_000_000, 2_999_000, 10, 10].map((size, id) => ({ id, text: 'x'.repeat(size) }))
  const pages: number[][] = []
  for (let from = 0; ;) {
    const { rows: shown, next } = pageOf(
      rows.slice(from),
      50,
      ({ id }) => String(id),
      (row) => row,
    )
    pages.push(shown.map(({ id }) => id))
    if (next === null) break
    from = Number(next) + 1
  }
  assert.deepEqual(pages, [[0], [1, 2, 3, 4]])
})

test('large messages are listed in pages of 8 MB, for one branch or all, in both orders, and exported completely', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const messages = Array.from({ length: 40 }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    id: String(n),
    parent_id: n === 0 ? null : String(n - 1),
    text: `${n} ${'x'.repeat(500_000)}`,
  }))
  const made = await alice.post('/chats/import', { source: 'elsewhere', external_id: 'long', title: 'Long', messages })
  assert.ok(made.status < 300, made.text.slice(0, 500))
  const chat = made.body.data.id
  for (const branch of ['active', 'all'])
    for (const order of ['asc', 'desc']) {
      const numbers: number[] = []
      let cursor: string | null = null
      do {
        const query: string = `branch=${branch}&order=${order}&limit=100${cursor === null ? '' : `&cursor=${cursor}`}`
        const page = await alice.get(`/chats/${chat}/messages?${query}`)
        assert.equal(page.status, 200, page.text.slice(0, 300))
        assert.ok(page.text.length < 9_000_000, String(page.text.length))
        for (const { text } of page.body.data) numbers.push(Number.parseInt(text, 10))
        assert.equal(page.body.pagination.has_more, page.body.pagination.next_cursor !== null)
        cursor = page.body.pagination.next_cursor
      } while (cursor !== null)
      const inOrder = messages.map((_, n) => n)
      assert.deepEqual(order === 'asc' ? numbers : numbers.toReversed(), inOrder, `${branch} ${order}`)
    }
  const exported = await alice.get(`/chats/${chat}/export?format=json`)
  assert.ok(exported.text.length > 40 * 500_000, String(exported.text.length))
})
