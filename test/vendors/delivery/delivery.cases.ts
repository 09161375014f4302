import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import { startAnthropic } from '../anthropic/anthropic.ts'
import { startOpenAI } from '../openai/openai.ts'
import type { Behaviour, Garbage, Vendor } from '../vendor.ts'

const text = 'Grüße aus 東京 👩‍👩‍👧 und zurück'

async function post(vendor: Vendor, stream = false, signal?: AbortSignal): Promise<Response> {
  return await fetch(`${vendor.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${vendor.key}` },
    body: JSON.stringify({ model: 'gpt-4o', stream, messages: [{ role: 'user', content: text }] }),
    ...(signal ? { signal } : {}),
  })
}

async function streamText(behaviour: Behaviour): Promise<string> {
  await using vendor = await startOpenAI({ otherwise: behaviour })
  return await (await post(vendor, true)).text()
}

describe('delivery', () => {
  test('any chunking is the same stream to a client', async () => {
    for (const chunking of [1, 2, 3, 7, 100]) {
      await using vendor = await startOpenAI()
      vendor.script({ chunking })
      const client = new OpenAI({ apiKey: vendor.key, baseURL: `${vendor.origin}/v1`, maxRetries: 0 })
      const messages = [{ role: 'user' as const, content: text }]
      const answer = await client.chat.completions.stream({ model: 'gpt-4o', messages }).finalChatCompletion()
      assert.equal(answer.choices[0]?.message.content, text)
    }
  })

  test('chunks arrive as they were cut', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ chunking: 5 })
    const sizes: number[] = []
    for await (const chunk of (await post(vendor)).body ?? assert.fail()) sizes.push(chunk.length)
    assert.ok(
      sizes.length > 50 && Math.max(...sizes) <= 50,
      `${sizes.length} chunks of up to ${Math.max(...sizes)} bytes`,
    )
  })

  test('a stream breaks after some content and before its end, however long the script is', async () => {
    for (const after of [0, 1, 99]) {
      const breakAfter = await streamText({ midStreamError: { after } })
      assert.match(breakAfter, /"role":"assistant"/)
      assert.match(breakAfter.trimEnd().split('\n').at(-1) ?? '', /^data: \{"error":/)
      assert.doesNotMatch(breakAfter, /"finish_reason":"|\[DONE\]/)
    }
  })

  test('all kinds of garbage, whole and streamed', async () => {
    const whole = async (garbage: Garbage): Promise<unknown> => {
      await using vendor = await startOpenAI({ otherwise: { garbage } })
      return await (await post(vendor)).json()
    }
    await assert.rejects(whole('not json'), SyntaxError)
    await assert.rejects(whole('truncated'), SyntaxError)
    await assert.rejects(whole('closes socket'), TypeError)
    await assert.rejects(whole('no answer'), TypeError)
    assert.match(JSON.stringify(await whole('wrong types')), /"total_tokens":"\d+"/)

    assert.match(await streamText({ garbage: 'not json' }), /^data: \{"choices": \[oops$/m)
    assert.match(await streamText({ garbage: 'wrong types' }), /"content":\d/)
    assert.doesNotMatch(await streamText({ garbage: 'truncated' }), /\[DONE\]|\n$/)
    await assert.rejects(streamText({ garbage: 'closes socket' }), TypeError)
    await assert.rejects(streamText({ garbage: 'no answer' }), TypeError)
  })
})

describe('delivery, connections', () => {
  test('a client that disconnects is recorded: before, during, after', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ hang: true }, { hang: 'mid-stream' }, {})
    const early = new AbortController()
    const hanging = post(vendor, true, early.signal)
    const first = await vendor.arrival(0)
    assert.equal(first.aborted, false)
    early.abort()
    await assert.rejects(hanging, { name: 'AbortError' })
    await first.ended
    assert.equal(first.aborted, true)

    const middle = new AbortController()
    const response = await post(vendor, true, middle.signal)
    await response.body?.getReader().read()
    middle.abort()
    const second = await vendor.arrival(1)
    await second.ended
    assert.equal(second.aborted, true)

    await (await post(vendor, true)).text()
    const third = await vendor.arrival(2)
    await third.ended
    assert.equal(third.aborted, false)
  })

  test('a connection that the vendor breaks doesn’t count as a disconnected client', async () => {
    await using vendor = await startOpenAI({ otherwise: { garbage: 'closes socket' } })
    await assert.rejects(async () => (await post(vendor)).text())
    const request = await vendor.arrival()
    await request.ended
    assert.equal(request.aborted, false)
  })

  test('delays before the first byte and between frames', async () => {
    await using vendor = await startOpenAI()
    vendor.script({ reply: 'a b c', delayMs: 5, perChunkDelayMs: 1 })
    const start = performance.now()
    await (await post(vendor, true)).text()
    assert.ok(performance.now() - start >= 9)
  })

  test('a behavior can be bound to a route, and repeated', async () => {
    await using vendor = await startAnthropic()
    vendor.script({ on: 'GET /v1/models', status: 500, times: 2 }, { reply: 'scripted' })
    const headers = { 'x-api-key': vendor.key, 'anthropic-version': '2023-06-01' }
    const list = async () => (await fetch(`${vendor.origin}/v1/models`, { headers })).status
    assert.equal(vendor.pending(), 3)
    assert.deepEqual([await list(), await list(), await list()], [500, 500, 200])
    assert.equal(vendor.pending(), 1)
  })
})
