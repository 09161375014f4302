import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Person, type TestServer, testServer } from '#test/server.ts'

let server: TestServer
let alice: Person
before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
})
after(() => server[Symbol.asyncDispose]())

const CHARACTERS = ['😀', '👨‍👩‍👧‍👦', 'e\u0301', '🇩🇪', '请']

for (const format of ['markdown', 'json', 'html'])
  test(`a chat exports as ${format} with any character at the end of its file name`, async () => {
    for (const character of CHARACTERS)
      for (const length of [80 - character.length, 79, 80]) {
        const title = `${'x'.repeat(length)}${character} notes`
        const { id } = (await alice.post('/chats', { model: 'sim/echo', title })).body.data
        const answer = await alice.get(`/chats/${id}/export?format=${format}`)
        assert.equal(answer.status, 200, `${length} + ${character}: ${answer.text}`)
        const name = /filename\*=UTF-8''([^;]+)\.\w+$/.exec(answer.headers.get('content-disposition')!)![1]!
        const whole = length + character.length <= 80 ? `${'x'.repeat(length)}${character}` : 'x'.repeat(length)
        assert.equal(decodeURIComponent(name), whole)
      }
  })

test('a title made from a message keeps its last character whole', async () => {
  for (const character of CHARACTERS)
    for (let length = 59 - character.length; length <= 60; length++) {
      const content = `${'y'.repeat(length)}${character}${'z'.repeat(60)}`
      const { id } = (await alice.post('/chats', { model: 'sim/echo' })).body.data
      await alice.post(`/chats/${id}/messages`, { content })
      const { title } = (await alice.get(`/chats/${id}`)).body.data
      const prefix = title.replace(/…$/, '')
      assert.ok(content.startsWith(prefix), title)
      const segments = [...new Intl.Segmenter('en').segment(content)].map(({ index }) => index)
      assert.ok(segments.includes(prefix.length), `${title} ends inside ${character}`)
    }
})
