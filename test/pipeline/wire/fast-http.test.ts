import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { testServer } from '../../server.ts'
import { until } from '../../until.ts'
import { READERS } from './readers.ts'

for (const { read, environment } of READERS) {
  test(`one connection carries small and large model calls and other requests, each answered in order, ${read}`, async () => {
    await using server = await testServer({ environment })
    const alice = await server.person('Alice')
    const { key } = await alice.key()
    let nodes = 0
    server.app.door.server.on('request', () => nodes++)
    const post = (path: string, body: object, more = '') => {
      const text = JSON.stringify(body)
      return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
    }
    const ask = (words: string, more: object = {}) => ({
      model: 'sim/echo',
      messages: [{ role: 'user', content: words }],
      ...more,
    })
    const requests = [
      post('/compat-a/v1/chat/completions', ask('one')),
      post('/compat-b/v1/messages?beta=true', ask('two', { max_tokens: 50 })),
      post('/compat-a/v1/chat/completions', ask('three', { stream: true })),
      post('/compat-a/v1/chat/completions', ask('four ü')),
      post('/compat-a/v1/chat/completions', { model: 'sim/echo' }),
      post('/compat-a/v1/chat/completions', ask(`five ${'x'.repeat(300_000)}`)),
      'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
      post('/compat-c/api/v1/chat/completions', ask('six'), 'Connection: close\r\n'),
    ]
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
    const parts: Buffer[] = []
    socket.on('data', (part) => parts.push(part))
    socket.write(requests.join(''))
    await once(socket, 'close')
    const text = Buffer.concat(parts).toString()
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+) .*\r\n/g)].map(([, status]) => status)
    assert.deepEqual(statuses, ['200', '200', '200', '200', '400', '200', '200', '200'])
    // The sixth exceeds the fast path, which hands over the connection.
    assert.equal(nodes, environment.UK_FAST_HTTP === 'on' ? 3 : 8)
    const places = ['one', 'two', 'three', 'four ü', 'five xxx', 'six'].map((words) => text.indexOf(words))
    assert.deepEqual(
      places,
      places.filter((at) => at >= 0).toSorted((a, b) => a - b),
    )
    assert.equal([...text.matchAll(/\r\nx-request-id: [0-9A-Z]{26}\r\n/gi)].length, 8)
  })

  test(`a streamed response ends with one final chunk, and its connection stays silent until the next request, ${read}`, async () => {
    await using server = await testServer({ environment })
    const { key } = await (await server.person('Alice')).key()
    const body = '{"model":"sim/echo","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"one two"}]}'
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
    let text = ''
    socket.on('data', (part) => (text += part))
    for (const path of [
      '/compat-a/v1/chat/completions',
      '/compat-b/v1/messages',
      '/compat-c/api/v1/chat/completions',
    ]) {
      text = ''
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      await until(
        async () => text,
        () => text.includes('\r\n0\r\n\r\n'),
      )
      // Anything written with it has arrived by now.
      await new Promise((resolve) => setTimeout(resolve, 50))
      assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
      assert.equal(text.indexOf('\r\n0\r\n\r\n') + 7, text.length, path)
    }
    socket.destroy()
  })
}
