import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { testServer } from '#test/server.ts'
import { READERS } from './wire/readers.ts'

const words = (count: number, apartMs: number) => [
  {
    role: 'user' as const,
    content: JSON.stringify({
      turns: [Array.from({ length: count }, (_, n) => [{ text: `${n} ` }, { delay_ms: apartMs }]).flat()],
    }),
  },
]

async function world(drainSeconds: string, environment: Record<string, string>) {
  const server = await testServer({ environment: { UK_DRAIN_SECONDS: drainSeconds, ...environment } })
  const { origin } = server
  const alice = await (await server.person('Alice')).key()
  const openai = new OpenAI({ apiKey: alice.key, baseURL: `${origin}/compat-a/v1`, maxRetries: 0 })
  const anthropic = new Anthropic({ apiKey: alice.key, baseURL: `${origin}/compat-b`, maxRetries: 0 })

  async function startReading<T>(stream: AsyncIterable<T>) {
    const iterator = stream[Symbol.asyncIterator]()
    const first = (await iterator.next()).value as T
    return {
      async rest(): Promise<T[]> {
        const all = [first]
        for (let next = await iterator.next(); !next.done; next = await iterator.next()) all.push(next.value)
        return all
      },
    }
  }
  return {
    server,
    alice,
    openai,
    anthropic,
    chat: async (messages: ReturnType<typeof words>) =>
      startReading(await openai.chat.completions.create({ model: 'sim/script', messages, stream: true })),
    message: async (messages: ReturnType<typeof words>) =>
      startReading(await anthropic.messages.create({ model: 'sim/script', max_tokens: 1000, messages, stream: true })),
    async inference(messages: ReturnType<typeof words>) {
      const response = await fetch(`${origin}/v1/inference/text/stream`, {
        method: 'POST',
        headers: { ...alice.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim/script', messages }),
      })
      return startReading(response.body!.pipeThrough(new TextDecoderStream()))
    },
  }
}

for (const { read, environment } of READERS) {
  test(`a stopping server finishes model responses, ${read}`, async () => {
    const { server, chat, message, inference } = await world('10', environment)
    const messages = words(8, 100)
    const streams = await Promise.all([chat(messages), message(messages), inference(messages)])
    const stop = server[Symbol.asyncDispose]()
    const [chunks, events, text] = await Promise.all([streams[0].rest(), streams[1].rest(), streams[2].rest()])
    assert.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'stop')
    assert.equal(events.at(-1)!.type, 'message_stop')
    assert.match(text.join(''), /"delta":"7 "[^]*event: run\.completed\n/)
    await stop
  })

  test(`calls that exceed the drain time end with an error in their format, ${read}`, async () => {
    const { server, alice, openai, anthropic, chat, message, inference } = await world('1', environment)
    const messages = words(600, 100)
    const body = { model: 'sim/script', messages }
    const refusalOf = (call: Promise<unknown>) =>
      call.then(
        () => assert.fail('answered'),
        (error: unknown) => error as { status: number; message: string },
      )
    const wholes = [
      refusalOf(openai.chat.completions.create(body)),
      refusalOf(anthropic.messages.create({ ...body, max_tokens: 1000 })),
    ]
    const answer = alice.post('/inference/text', body)
    const streams = await Promise.all([chat(messages), message(messages), inference(messages)])
    const stop = server[Symbol.asyncDispose]()
    await assert.rejects(streams[0].rest(), (error) => {
      assert.ok(error instanceof OpenAI.APIError)
      return /shutting down/.test(error.message)
    })
    await assert.rejects(streams[1].rest(), (error) => {
      assert.ok(error instanceof Anthropic.APIError)
      return /shutting down/.test(error.message)
    })
    const text = (await streams[2].rest()).join('')
    assert.match(text, /event: run\.failed\ndata: .*"code":"shutting_down"[^\n]*\n\n$/)
    for (const { status, message: why } of await Promise.all(wholes)) {
      assert.equal(status, 503)
      assert.match(why, /shutting down/)
    }
    const { status, body: errorBody } = await answer
    assert.deepEqual([status, errorBody.error.type, errorBody.error.code], [503, 'unavailable', 'shutting_down'])
    await stop
  })
}
