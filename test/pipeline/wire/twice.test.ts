import assert from 'node:assert/strict'
import { test } from 'node:test'
import { surfaces } from '#gateway/mount.ts'
import { KeptConnection } from '../../rfc9112/kept-connection.ts'
import { testServer } from '../../server.ts'
import { READERS } from './readers.ts'

const rest = (body: any) => body.error.type === 'invalid_request' && body.type === undefined
const shapes = {
  'compat-a': (body: any) => body.error.type === 'invalid_request_error' && body.type === undefined,
  'compat-b': (body: any) => body.type === 'error' && body.error.type === 'invalid_request_error',
  'compat-c': (body: any) => body.error.code === 400,
}

const fields = ['Host', 'Authorization', 'X-Api-Key', 'Content-Length'] as const

for (const { read, environment } of READERS)
  test(`a repeated single-value header is a 400 on every interface, in its format, ${read}`, async (t) => {
    await using server = await testServer({ environment })
    const { key } = await (await server.person('Alice')).key()
    const values = { Host: '127.0.0.1', Authorization: `Bearer ${key}`, 'X-Api-Key': key, 'Content-Length': '2' }
    const gateways = surfaces.flatMap(({ name, roots, routes }) =>
      roots.flatMap((root) =>
        Object.entries(routes).flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => ({ way: `${method} ${root}${path}`, is: shapes[name] })),
        ),
      ),
    )
    const others = [
      'GET /v1/me',
      'POST /v1/chats',
      'POST /v1/auth/sign-in',
      'GET /v1/nowhere',
      'OPTIONS /v1/me',
      'POST /mcp',
    ]
    const pages = ['GET /docs', 'GET /app', 'GET /f/x', 'GET /healthz', 'GET /metrics', 'GET /', 'HEAD /v1/me']
    const ways = [...gateways, ...[...others, ...pages].map((way) => ({ way, is: rest }))]
    let tryCount = 0
    for (const { way, is } of ways)
      for (const name of fields)
        for (const second of [values[name], name === 'Content-Length' ? '3' : `${values[name]}x`]) {
          const own = name === 'X-Api-Key' ? { ...values, Authorization: '' } : { ...values, 'X-Api-Key': '' }
          const head = Object.entries(own).flatMap(([field, value]) => (value === '' ? [] : [`${field}: ${value}`]))
          const [method = ''] = way.split(' ')
          await using connection = await KeptConnection.open(server.origin)
          // An ordinary request first, so that the fast path has read the connection.
          connection.send(
            `POST /compat-a/v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}`,
          )
          assert.equal((await connection.answer('POST'))!.status, 401)
          connection.send(`${way} HTTP/1.1\r\n${head.join('\r\n')}\r\n${name.toLowerCase()}: ${second}\r\n\r\n{}`)
          const answer = (await connection.answer(method))!
          const words = `${way}, ${name}: ${answer.body.toString()}`
          assert.equal(answer.status, 400, words)
          assert.ok(
            answer.fields.some(([field]) => field === 'x-request-id'),
            words,
          )
          tryCount++
          if (method === 'HEAD') continue
          const body = JSON.parse(answer.body.toString())
          assert.ok(is(body), words)
          assert.match(body.error.message, new RegExp(`\`${name}\``, 'i'), words)
          if (name === 'Content-Length') continue
          connection.send('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
          assert.equal((await connection.answer('GET'))!.status, 200, words)
        }
    t.diagnostic(`${ways.length} ways in, ${tryCount} requests`)
  })
