import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ended } from '#test/operations/ended.ts'
import { endless, worksService } from '#test/operations/works.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'

const kinds = endless(() => {})
let server: TestServer
let ann: Person
let bob: Person

before(async () => {
  server = await testServer({ operations: kinds, services: [worksService(kinds)] })
  ;[ann, bob] = [await server.person('Ann'), await server.person('Bob')]
  assert.equal((await ann.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 1_000 })).status, 201)
})
after(() => server?.[Symbol.asyncDispose]())

const words = (content: string) => ({ messages: [{ role: 'user', content }] })
const slow = JSON.stringify({ steps: [{ delay_ms: 600_000 }, { text: 'late' }] })

/** Ways to start a long operation. */
const ways: Readonly<Record<string, (by: Person) => Promise<string>>> = {
  'text in the background': async (by) =>
    idOf(await by.post('/inference/text', { model: 'sim/script', ...words(slow), background: true })),
  'messages in the background': async (by) => {
    const chat = (await by.post('/chats', { model: 'sim/script' })).body.data.id
    return idOf(await by.post(`/chats/${chat}/messages`, { content: slow, background: true }))
  },
  'work of any kind': async (by) => idOf(await by.post('/works', { how: 'works.again' })),
}
const idOf = ({ status, text, body }: Awaited<ReturnType<Person['post']>>): string => {
  assert.equal(status, 202, text)
  return body.data.id as string
}

/** More than the concurrent jobs of a process. */
const MANY = 60

for (const [name, begin] of Object.entries(ways))
  test(`long operations of one account don’t delay other accounts: ${name}`, async () => {
    const ids: string[] = []
    for (let n = 0; n < MANY; n++) ids.push(await begin(bob))
    const fast = idOf(await ann.post('/inference/text', { model: 'sim/echo', ...words('hello'), background: true }))
    assert.equal((await ended(ann, fast)).status, 'succeeded')
    for (const id of ids) assert.equal((await bob.post(`/operations/${id}/cancel`)).status, 200)
    const ends = await Promise.all(ids.map((id) => ended(bob, id)))
    assert.deepEqual([...new Set(ends.map(({ status }) => status))], ['cancelled'])
  })

test('an account can have 1,000 unfinished operations, and further ones are refused before anything starts', async () => {
  const { pool } = server.app.engine.postgres
  const chat = (await bob.post('/chats', { model: 'sim/echo' })).body.data.id
  const fill = (n: number) =>
    pool.query(
      `insert into operations (id, account_id, kind, expires_at)
        select lpad(n::text, 26, '0'), $1, 'works.full', now() + interval '1 day' from generate_series(1, $2::int) n`,
      [bob.id, n],
    )
  await fill(1_000)
  const calls: readonly [string, object][] = [
    ['/inference/text', { model: 'sim/echo', ...words('hello') }],
    ['/inference/images', { model: 'sim/image', prompt: 'hello' }],
    ['/inference/videos', { model: 'sim/video', prompt: 'hello' }],
    ['/inference/speech', { model: 'sim/speech', input: 'hello' }],
    [`/chats/${chat}/messages`, { content: 'hello' }],
  ]
  for (const [path, body] of calls) {
    const answer = await bob.post(path, path.endsWith('videos') ? body : { ...body, background: true })
    assert.deepEqual([path, answer.status, answer.body.error.code], [path, 429, 'concurrency_limited'])
    assert.ok(Number(answer.headers.get('retry-after')) > 0)
  }
  const works = await bob.post('/works', { how: 'works.again' })
  assert.equal(works.body.error.code, 'concurrency_limited')
  assert.equal((await bob.get(`/chats/${chat}`)).body.data.message_count, 0)
  // Other accounts and inline calls continue.
  assert.equal((await bob.post('/inference/text', { model: 'sim/echo', ...words('hello') })).status, 200)
  idOf(await ann.post('/inference/text', { model: 'sim/echo', ...words('hello'), background: true }))
  await pool.query(
    `delete from operations where kind = 'works.full' and id = (select max(id) from operations where kind = 'works.full')`,
  )
  idOf(await bob.post('/inference/text', { model: 'sim/echo', ...words('hello'), background: true }))
})
