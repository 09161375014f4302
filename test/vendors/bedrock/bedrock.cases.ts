import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import { AwsV4Signer } from 'aws4fetch'
import { startBedrock, type Bedrock } from './bedrock.ts'
import type { Json } from '../vendor.ts'

const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const messages = [{ role: 'user', content: [{ text: 'one two three' }] }]
const weather = { toolSpec: { name: 'weather', inputSchema: { json: { type: 'object' } } } }

async function post(
  vendor: Bedrock,
  verb: string,
  body: Json,
  secret = vendor.account.secretAccessKey,
): Promise<Response> {
  const signer = new AwsV4Signer({
    accessKeyId: vendor.account.accessKeyId,
    region: vendor.account.region,
    secretAccessKey: secret,
    service: 'bedrock',
    method: 'POST',
    url: `${vendor.origin}/model/${encodeURIComponent(claude)}/${verb}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { url, headers } = await signer.sign()
  return await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => Buffer.from(text),
)

async function events(answer: Response): Promise<[string, Json][]> {
  assert.equal(answer.headers.get('content-type'), 'application/vnd.amazon.eventstream')
  const bytes = Buffer.from(await answer.arrayBuffer())
  const out: [string, Json][] = []
  for (let at = 0; at < bytes.length;) {
    const size = bytes.readUInt32BE(at)
    const { headers, body } = codec.decode(bytes.subarray(at, at + size))
    const kind = headers[':event-type'] ?? headers[':exception-type']
    out.push([String(kind?.value), JSON.parse(Buffer.from(body).toString()) as Json])
    at += size
  }
  return out
}

describe('bedrock', () => {
  test('converse and its stream, signed by another implementation', async () => {
    await using vendor = await startBedrock()
    vendor.script({
      reply: {
        reasoning: 'hm',
        text: 'Grüße',
        tools: [{ id: 'tooluse_1', name: 'weather', arguments: { city: '東京' } }],
      },
      usage: { input: 12, output: 30, cached: 4 },
      times: 2,
    })
    const body = { messages, toolConfig: { tools: [weather] } }
    const whole = (await (await post(vendor, 'converse', body)).json()) as Json
    assert.deepEqual(
      whole['output'].message.content.map((one: Json) => Object.keys(one)[0]),
      ['reasoningContent', 'text', 'toolUse'],
    )
    assert.deepEqual(whole['usage'], {
      inputTokens: 8,
      outputTokens: 30,
      totalTokens: 42,
      cacheReadInputTokens: 4,
      cacheWriteInputTokens: 0,
    })
    const streamEvents = await events(await post(vendor, 'converse-stream', body))
    assert.deepEqual(streamEvents[0], ['messageStart', { role: 'assistant' }])
    assert.deepEqual(
      streamEvents.slice(-2).map(([kind]) => kind),
      ['messageStop', 'metadata'],
    )
    const deltas = streamEvents.flatMap(([kind, data]) => (kind === 'contentBlockDelta' ? [data['delta']] : []))
    assert.equal(deltas.map((one) => one.text ?? '').join(''), 'Grüße')
    assert.deepEqual(JSON.parse(deltas.map((one) => one.toolUse?.input ?? '').join('')), { city: '東京' })
  })

  test('invoke speaks Anthropic; the stream carries its events as bytes', async () => {
    await using vendor = await startBedrock()
    const body = {
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'one two' }],
    }
    const whole = (await (await post(vendor, 'invoke', body)).json()) as Json
    assert.equal(whole['content'][0].text, 'one two')
    const streamEvents = await events(await post(vendor, 'invoke-with-response-stream', body))
    const inner = streamEvents.map(([, data]) => JSON.parse(Buffer.from(data['bytes'], 'base64').toString()) as Json)
    assert.equal(inner[0]?.['type'], 'message_start')
    assert.ok(inner.at(-1)?.['amazon-bedrock-invocationMetrics'].inputTokenCount)
    assert.equal((await post(vendor, 'invoke', { ...body, model: claude })).status, 400)
  })

  test('a broken stream ends with an exception; errors have their name in a header', async () => {
    await using vendor = await startBedrock()
    vendor.script({ midStreamError: { status: 429, after: 1 } }, { status: 429 })
    const streamEvents = await events(await post(vendor, 'converse-stream', { messages }))
    assert.deepEqual(
      streamEvents.map(([kind]) => kind),
      ['messageStart', 'contentBlockDelta', 'throttlingException'],
    )
    const throttled = await post(vendor, 'converse', { messages })
    assert.equal(throttled.status, 429)
    assert.match(throttled.headers.get('x-amzn-errortype') ?? '', /^ThrottlingException/)
    const calls = [{ toolUse: { toolUseId: 't1', name: 'weather', input: {} } }]
    const open = {
      messages: [...messages, { role: 'assistant', content: calls }, ...messages],
      toolConfig: { tools: [weather] },
    }
    const rejection = await post(vendor, 'converse', open)
    assert.match(((await rejection.json()) as Json)['message'], /Expected toolResult blocks .* t1/)
  })

  test('a signature with another secret, or none, is rejected; an API key needs no signature', async () => {
    await using vendor = await startBedrock()
    const wrong = await post(vendor, 'converse', { messages }, 'another')
    assert.equal(wrong.status, 403)
    assert.match(wrong.headers.get('x-amzn-errortype') ?? '', /InvalidSignatureException/)
    const url = `${vendor.origin}/model/${encodeURIComponent(claude)}/converse`
    const bare = (headers: Record<string, string>) =>
      fetch(url, { method: 'POST', headers, body: JSON.stringify({ messages }) })
    assert.equal((await bare({})).status, 403)
    assert.equal((await bare({ authorization: `Bearer ${vendor.key}` })).status, 200)
  })
})
