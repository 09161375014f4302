// Thorough: run by the merge check, or by name.
/**
 * HTTP clients of several families call all surfaces over kept connections. An extra byte after a response would break
 * the next call or close the connection.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, type Server, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import axios from 'axios'
import got from 'got'
import httpProxy from 'http-proxy'
import nodeFetch from 'node-fetch'
import * as undici from 'undici'
import { type TestServer, testServer } from '../../server.ts'
import { READERS } from './readers.ts'

const CALLS = 40
/** Connections a client may use for sequential calls; a retry would open another. */
const MAX = 1

let server: TestServer
let headers: Record<string, string>
let acceptCount = 0

const paths = ['/compat-a/v1/chat/completions', '/compat-b/v1/messages', '/compat-c/v1/chat/completions']
const bodyOf = (words: string, stream: boolean): string =>
  JSON.stringify({ model: 'sim/echo', max_tokens: 99, stream, messages: [{ role: 'user', content: words }] })

type Call = (url: string, body: string) => Promise<string>

async function calls(call: Call, origin = server.origin): Promise<void> {
  const before = acceptCount
  for (let n = 0; n < CALLS * paths.length; n++) {
    const stream = n % 2 === 0
    const text = await call(origin + paths[n % paths.length]!, bodyOf(`word${n}`, stream))
    assert.ok(text.includes(`word${n}`), text)
    assert.equal(text.startsWith('{'), !stream, text)
  }
  assert.ok(acceptCount - before <= MAX, `${acceptCount - before} connections`)
}

const keepAlive = () => new Agent({ keepAlive: true, maxSockets: 1 })

async function textOf(stream: AsyncIterable<Buffer | string>): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(Buffer.from(part))
  return Buffer.concat(parts).toString()
}

function byNode(agent: Agent): Call {
  return async (url, body) => {
    const clientRequest = request(url, {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    })
    clientRequest.end(body)
    const [answer] = (await once(clientRequest, 'response')) as [IncomingMessage]
    assert.equal(answer.statusCode, 200)
    return await textOf(answer)
  }
}

for (const { read, environment } of READERS)
  describe(read, () => {
    before(async () => {
      server = await testServer({ environment: { UK_LIMIT_INFERENCE: '0', ...environment } })
      headers = { ...(await (await server.person('Alice')).key()).headers, 'content-type': 'application/json' }
      server.app.door.server.on('connection', () => acceptCount++)
    })
    after(() => server[Symbol.asyncDispose]())

    test('node:http with an agent', async () => {
      using agent = disposable(keepAlive())
      await calls(byNode(agent))
    })

    test('node-fetch 2 with an agent', async () => {
      using agent = disposable(keepAlive())
      await calls(async (url, body) => {
        const answer = await nodeFetch(url, { method: 'POST', headers, body, agent })
        assert.equal(answer.status, 200)
        return await answer.text()
      })
    })

    test('axios, whole and as a stream', async () => {
      using agent = disposable(keepAlive())
      for (const responseType of ['text', 'stream'] as const)
        await calls(async (url, body) => {
          const { status, data } = await axios.post(url, body, { headers, httpAgent: agent, responseType })
          assert.equal(status, 200)
          return typeof data === 'string' ? data : responseType === 'stream' ? await textOf(data) : JSON.stringify(data)
        })
    })

    test('got, whole and as a stream', async () => {
      using agent = disposable(keepAlive())
      const how = { headers, agent: { http: agent }, retry: { limit: 0 } }
      await calls(async (url, body) => (await got.post(url, { ...how, body })).body)
      await calls((url, body) => textOf(got.stream.post(url, { ...how, body })))
    })

    test('http-proxy with an agent in front', async () => {
      using agent = disposable(keepAlive())
      using own = disposable(keepAlive())
      const proxy = httpProxy.createProxyServer({ target: server.origin, agent })
      const front: Server = createServer((incoming, answer) =>
        proxy.web(incoming, answer, {}, () => void answer.destroy()),
      )
      await once(front.listen(0, '127.0.0.1'), 'listening')
      try {
        await calls(byNode(own), `http://127.0.0.1:${(front.address() as AddressInfo).port}`)
      } finally {
        proxy.close()
        front.closeAllConnections()
        await new Promise((resolve) => front.close(resolve))
      }
    })

    test('undici and fetch', async () => {
      const pool = new undici.Pool(server.origin, { connections: 1 })
      after(() => pool.close())
      await calls(async (url, body) => {
        const { pathname: path } = new URL(url)
        const { statusCode, body: answer } = await pool.request({ path, method: 'POST', headers, body })
        assert.equal(statusCode, 200)
        return await answer.text()
      })
      await calls(async (url, body) => {
        const answer = await fetch(url, { method: 'POST', headers, body })
        assert.equal(answer.status, 200)
        return await answer.text()
      })
    })

    test('curl finds no extra bytes after a response and keeps its connection', async () => {
      const before = acceptCount
      const authorization = `authorization: ${headers.authorization}`
      const how = ['-s', '-v', '-N', '-H', authorization, '-H', 'content-type: application/json']
      const requests = Array.from({ length: CALLS * paths.length }, (_, n) => {
        const url = server.origin + paths[n % paths.length]!
        return [...(n === 0 ? [] : ['--next']), ...how, '-d', bodyOf(`word${n}`, n % 2 === 0), url]
      }).flat()
      const child = spawn('curl', requests, { stdio: ['ignore', 'pipe', 'pipe'] })
      const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
      assert.equal(stderr.match(/^< HTTP\/1\.1 200/gm)?.length, CALLS * paths.length)
      for (let n = 0; n < CALLS * paths.length; n++) assert.ok(stdout.includes(`word${n}`), `word${n}`)
      assert.doesNotMatch(stderr, /leftover|excess/i)
      assert.ok(acceptCount - before <= MAX, `${acceptCount - before} connections`)
    })

    const disposable = (agent: Agent): Agent & Disposable =>
      Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() })
  })
