/**
 * Request bodies use pooled memory. Two accounts call concurrently, and a provider that answers, fails, answers early,
 * hangs, or is slow checks each body: it must be complete and contain no other caller's bytes.
 */
import assert from 'node:assert/strict'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { testServer } from '../../server.ts'
import { READERS } from './readers.ts'

/** Provider behaviors; `leaves`: the client doesn't wait for the response. */
const KINDS = ['answers', 'streams', 'fails once', 'is early', 'hangs', 'is slow', 'breaks off', 'leaves'] as const
type Kind = (typeof KINDS)[number]

const CALLERS = 16
const CALLS = 12
const WORDS = [1, 40, 900, 9_000, 14_000, 30_000]

const wordsOf = (mark: string, words: number): string => Array.from({ length: words }, () => mark).join(' ')

async function startMoody() {
  const wrong: string[] = []
  const failures = new Set<string>()
  let receivedCount = 0
  const server = createServer((request, response) => void answer(request, response))
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const kind = request.url!.startsWith('/early/') ? 'is early' : null
    // Answers without reading, and reads no more.
    if (kind !== null) return void response.writeHead(413, { connection: 'close' }).end('{}')
    const parts: Buffer[] = []
    try {
      for await (const part of request) parts.push(part as Buffer)
    } catch {
      return
    }
    receivedCount++
    const text = Buffer.concat(parts).toString()
    let user = ''
    try {
      const body = JSON.parse(text)
      user = body.user
      const { mark, words, key } = JSON.parse(user)
      if (body.messages[0].content !== wordsOf(mark, words)) throw new Error('words of somebody else')
      if (request.headers.authorization !== `Bearer ${key}`) throw new Error('the key of somebody else')
    } catch (error) {
      wrong.push(`${String(error)}: ${user} ${text.slice(0, 300)}`)
      return void response.writeHead(400).end('{}')
    }
    const { mark, kind: mood } = JSON.parse(user) as { mark: string; kind: Kind }
    if (mood === 'hangs') return
    if (mood === 'breaks off') return void response.destroy()
    if (mood === 'is slow' || mood === 'leaves') await wait(Math.random() * 60)
    if (mood === 'fails once' && !failures.has(mark)) {
      failures.add(mark)
      return void response.writeHead(503).end('{}')
    }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const head = { id: 'x', created: 1, model: 'moody' }
    if (mood === 'streams') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const delta of [{ role: 'assistant', content: mark }, {}]) {
        const choices = [{ index: 0, delta, finish_reason: delta.content === undefined ? 'stop' : null }]
        response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, usage })}\n\n`)
        await wait(Math.random() * 4)
      }
      return void response.end('data: [DONE]\n\n')
    }
    const choices = [{ index: 0, message: { role: 'assistant', content: mark }, finish_reason: 'stop' }]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    wrong,
    heard: () => receivedCount,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

for (const { read, environment } of READERS)
  test(`no call contains another caller’s bytes, however it ends, ${read}`, async () => {
    await using moody = await startMoody()
    await using server = await testServer({
      environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8', UK_LIMIT_INFERENCE: '0', ...environment },
    })
    const people = await Promise.all(
      ['Alice', 'Bob'].map(async (name) => {
        const person = await server.person(name)
        const key = `vendor-key-of-${name}`
        const models = [{ id: 'moody', pricing: { input: 1, output: 2 } }]
        for (const [slug, path, priority] of [
          ['first', '/v1', 1],
          ['second', '/v1', 2],
          ['early', '/early/v1', 3],
        ] as const) {
          const base = { name: slug, slug, shape: 'openai-chat', base_url: `${moody.origin}${path}`, api_key: key }
          const response = await person.post('/ai-gateway/provider-endpoints', {
            ...base,
            priority,
            test: false,
            models: slug === 'early' ? [{ ...models[0], id: 'early' }] : models,
          })
          assert.equal(response.status, 201, response.text)
        }
        return { key, headers: (await person.key()).headers }
      }),
    )
    let answerCount = 0
    const ask = async (caller: number, n: number): Promise<void> => {
      const { key, headers } = people[caller % people.length]!
      const kind = KINDS[(caller + n * 5) % KINDS.length]!
      const words = WORDS[(caller * 3 + n) % WORDS.length]!
      const mark = `mark-${caller}-${n}`
      const leaves = kind === 'hangs' || kind === 'leaves'
      const isHedged = kind === 'is slow' && n % 2 === 0
      const answer = fetch(`${server.origin}/compat-a/v1/chat/completions`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...(isHedged && { 'x-uk-hedge': '20' }) },
        body: JSON.stringify({
          model: kind === 'is early' ? 'early/early' : 'moody',
          stream: kind === 'streams',
          user: JSON.stringify({ mark, words, key, kind }),
          messages: [{ role: 'user', content: wordsOf(mark, words) }],
        }),
        signal: leaves ? AbortSignal.timeout(10 + ((caller * 7 + n * 13) % 50)) : null,
      })
      let text: string
      try {
        text = await (await answer).text()
      } catch (error) {
        assert.ok(leaves, `${kind}: ${String(error)}`)
        return
      }
      if (kind === 'is early' || kind === 'breaks off') return assert.ok(!text.includes('mark-'), text)
      assert.deepEqual([...new Set(text.match(/mark-[\d-]+/g))], [mark], `${kind}: ${text}`)
      answerCount++
    }
    // An incomplete request and a too large one: their memory returns to the pool.
    const half = (length: number): void => {
      const head = `POST /compat-a/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: ${people[0]!.headers['authorization']}\r\n`
      const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
      socket.on('error', () => {}).resume()
      socket.write(`${head}Content-Length: ${length}\r\n\r\n${'half '.repeat(2_000)}`)
      setTimeout(() => socket.destroy(), 50)
    }
    await Promise.all(
      Array.from({ length: CALLERS }, async (_, caller) => {
        for (let n = 0; n < CALLS; n++) {
          if (n % 6 === 0) half(n % 12 === 0 ? 40 << 20 : 20_000)
          await ask(caller, n)
        }
      }),
    )
    assert.deepEqual(moody.wrong, [])
    assert.ok(
      moody.heard() > (CALLERS * CALLS) / 2 && answerCount > (CALLERS * CALLS) / 3,
      `${moody.heard()}, ${answerCount}`,
    )
  })
