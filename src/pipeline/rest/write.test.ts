import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { sendJson, sendLargeJson } from './write.ts'

test('a large response has the headers of a small one: length, entity tag, and no body for HEAD or 304', async () => {
  const answer = { data: { text: 'é"'.repeat(400_000) } }
  const body = JSON.stringify(answer)
  const server = createServer((request, response) => {
    const status = 200
    if (request.url === '/whole') return sendJson(request, response, status, body, true)
    void sendLargeJson(request, response, status, answer, { isTagged: request.url === '/tagged', account: 'anybody' })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const headOf = ({ headers }: Response): object => {
    // Connection headers depend on the client's method.
    const beside = new Set(['date', 'connection', 'keep-alive'])
    return Object.fromEntries([...headers].filter(([name]) => !beside.has(name)))
  }
  try {
    const [whole, pieces] = await Promise.all(['/whole', '/tagged'].map((path) => fetch(origin + path)))
    assert.deepEqual(headOf(pieces!), headOf(whole!))
    assert.deepEqual([await pieces!.text(), await whole!.text()], [body, body])
    const etag = pieces!.headers.get('etag')!
    assert.equal(etag, `"${createHash('sha1').update(body).digest('base64url')}"`)
    const response = await fetch(`${origin}/tagged`, { headers: { 'if-none-match': etag } })
    assert.deepEqual([response.status, await response.text()], [304, ''])
    const head = await fetch(`${origin}/tagged`, { method: 'HEAD' })
    assert.deepEqual([await head.text(), headOf(head)], ['', headOf(pieces!)])
    const untaggedResponse = await fetch(`${origin}/untagged`)
    assert.deepEqual([await untaggedResponse.text(), untaggedResponse.headers.get('etag')], [body, null])
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
