import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError, GoogleGenAI, type Content, FunctionCallingConfigMode } from '@google/genai'
import { startGemini } from './gemini.ts'
import type { Vendor } from '../vendor.ts'

const client = (vendor: Vendor, apiKey = vendor.key) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: vendor.origin, retryOptions: { attempts: 1 } } })
const flash = 'gemini-3.8-flash'
const plain = 'gemini-2.0-flash'
const weather = {
  name: 'weather',
  parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false },
}
const tools = [{ functionDeclarations: [weather] }]
const twoCalls = { tools: [{ name: 'weather', arguments: { city: 'Kyōto' } }, { name: 'weather' }] }
const status = (code: number, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError)
  assert.equal(error.status, code)
  assert.match(error.message, words)
  return true
}

describe('@google/genai 3.1', () => {
  test('text, whole and streamed, with usage', async () => {
    await using vendor = await startGemini()
    vendor.script({ reply: 'Hello 東京', usage: { input: 12, output: 30, cached: 4, reasoning: 20 }, times: 2 })
    const { models } = client(vendor)
    const whole = await models.generateContent({ model: flash, contents: 'Hi' })
    assert.equal(whole.text, 'Hello 東京')
    assert.deepEqual([whole.usageMetadata?.candidatesTokenCount, whole.usageMetadata?.thoughtsTokenCount], [10, 20])
    assert.equal(whole.usageMetadata?.totalTokenCount, 42)
    assert.equal(whole.usageMetadata?.cachedContentTokenCount, 4)
    let text = ''
    let finish: string | undefined
    for await (const chunk of await models.generateContentStream({ model: flash, contents: 'Hi' })) {
      text += chunk.text ?? ''
      finish = chunk.candidates?.[0]?.finishReason ?? finish
      assert.ok(chunk.usageMetadata?.promptTokenCount)
    }
    assert.deepEqual([text, finish], ['Hello 東京', 'STOP'])
    assert.equal(vendor.requests[1]?.query.get('alt'), 'sse')
    assert.equal(vendor.requests[0]?.headers['x-goog-api-key'], vendor.key)
  })

  test('parallel calls are signed once; the signature must come back', async () => {
    await using vendor = await startGemini()
    vendor.script({ reply: { ...twoCalls, reasoning: 'hm' } })
    const { models } = client(vendor)
    const config = { tools, thinkingConfig: { includeThoughts: true } }
    const question: Content = { role: 'user', parts: [{ text: 'Weather?' }] }
    const answer = await models.generateContent({ model: flash, contents: [question], config })
    assert.deepEqual(
      answer.functionCalls?.map((call) => call.args),
      [{ city: 'Kyōto' }, {}],
    )
    const answerContent = answer.candidates?.[0]?.content ?? assert.fail()
    const parts = answerContent.parts ?? []
    assert.deepEqual(
      parts.map((part) => Boolean(part.thoughtSignature)),
      [false, true, false],
    )
    const calls = parts.filter((part) => part.functionCall)
    const results: Content = {
      role: 'user',
      parts: calls.map(({ functionCall: call }) => ({
        functionResponse: { id: call?.id ?? '', name: call?.name ?? '', response: { result: 'sunny' } },
      })),
    }
    const next = (...contents: Content[]) => models.generateContent({ model: flash, contents, config: { tools } })
    assert.equal((await next(question, { role: 'model', parts: calls }, results)).text, 'Weather?')
    const unsignedParts = calls.map(({ functionCall }) => ({ functionCall: functionCall ?? {} }))
    await assert.rejects(
      next(question, { role: 'model', parts: unsignedParts }, results),
      status(400, /missing a thought_signature/),
    )
    const first = results.parts?.slice(0, 1) ?? []
    await assert.rejects(
      next(question, { role: 'model', parts: calls }, { role: 'user', parts: first }),
      status(400, /number of function response parts/),
    )
  })

  test('thoughts are shown on request; a forced function is called', async () => {
    await using vendor = await startGemini()
    const { models } = client(vendor)
    const contents = 'x'
    const config = { thinkingConfig: { thinkingBudget: 1024, includeThoughts: true } }
    const thoughtFlags: boolean[] = []
    for await (const chunk of await models.generateContentStream({ model: 'gemini-2.5-pro', contents, config }))
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) thoughtFlags.push(part.thought === true)
    assert.ok(thoughtFlags[0] && !thoughtFlags.at(-1))
    const forcedAnswer = await models.generateContent({
      model: plain,
      contents,
      config: { tools, toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } } },
    })
    assert.equal(forcedAnswer.functionCalls?.[0]?.name, 'weather')
  })
})

describe('@google/genai 3.1, models and errors', () => {
  test('models, counts, a blocked prompt, a truncated and a broken stream', async () => {
    await using vendor = await startGemini()
    const { models } = client(vendor)
    const names: (string | undefined)[] = []
    for await (const model of await models.list({ config: { pageSize: 2 } })) names.push(model.name)
    assert.deepEqual(names, ['models/gemini-3.8-flash', 'models/gemini-2.5-pro', 'models/gemini-2.0-flash'])
    assert.equal((await models.get({ model: flash })).inputTokenLimit, 1_048_576)
    assert.ok((await models.countTokens({ model: flash, contents: 'one two' })).totalTokens)
    vendor.script({ reply: { refusal: 'no' } })
    const blockedAnswer = await models.generateContent({ model: flash, contents: 'x' })
    assert.equal(blockedAnswer.promptFeedback?.blockReason, 'PROHIBITED_CONTENT')
    assert.equal(blockedAnswer.candidates, undefined)
    const truncatedAnswer = await models.generateContent({
      model: plain,
      contents: 'one two three',
      config: { maxOutputTokens: 1 },
    })
    assert.equal(truncatedAnswer.candidates?.[0]?.finishReason, 'MAX_TOKENS')
    vendor.script({ midStreamError: { after: 1 } })
    const texts: (string | undefined)[] = []
    await assert.rejects(
      async () => {
        for await (const chunk of await models.generateContentStream({ model: plain, contents: 'one two three' }))
          texts.push(chunk.text)
      },
      status(503, /overloaded/),
    )
    assert.deepEqual(texts, ['one'])
    const raw = await fetch(`${vendor.origin}/v1beta/models/${plain}:streamGenerateContent`, {
      method: 'POST',
      headers: { 'x-goog-api-key': vendor.key },
      body: JSON.stringify({ contents: [{ parts: [{ text: 'a b' }] }] }),
    })
    assert.ok(Array.isArray(await raw.json()))
  })

  test('rejects what Google rejects', async () => {
    await using vendor = await startGemini()
    const { models } = client(vendor)
    const ask = async (body: unknown) => {
      const answer = await fetch(`${vendor.origin}/v1beta/models/${plain}:generateContent`, {
        method: 'POST',
        headers: { 'x-goog-api-key': vendor.key },
        body: JSON.stringify(body),
      })
      return [answer.status, JSON.stringify(await answer.json())] as const
    }
    const contents = [{ role: 'user', parts: [{ text: 'x' }] }]
    const declarationWith = (parameters: unknown) => ({
      contents,
      tools: [{ functionDeclarations: [{ name: 'f', parameters }] }],
    })
    const refusals: [unknown, RegExp][] = [
      [{ contents, top_k: 3 }, /Unknown name \\"top_k\\": Cannot find field/],
      [{ contents: [{ role: 'user', parts: [{}] }] }, /must have one initialized field/],
      [{ contents: [{ role: 'assistant', parts: [{ text: 'x' }] }] }, /valid role: user, model/],
      [declarationWith({ type: 'object', additionalProperties: false }), /additionalProperties/],
      [declarationWith({ type: 'object', properties: { a: { type: ['string', 'null'] } } }), /STRING|type/i],
      [declarationWith({ type: 'object', properties: {}, required: ['b'] }), /property is not defined/],
      [{ contents, generationConfig: { temperature: 3 } }, /temperature/],
      [{ contents, generationConfig: { thinkingConfig: { thinkingBudget: 5 } } }, /Thinking is not enabled/],
    ]
    for (const [body, words] of refusals) {
      const [code, text] = await ask(body)
      assert.equal(code, 400, text)
      assert.match(text, words)
    }
    await assert.rejects(models.generateContent({ model: 'gemini-0', contents: 'x' }), status(404, /ListModels/))
    await assert.rejects(
      client(vendor, 'wrong').models.generateContent({ model: plain, contents: 'x' }),
      status(400, /API_KEY_INVALID/),
    )
    vendor.script({ status: 429, code: '7.5s' }, { status: 503 })
    await assert.rejects(models.generateContent({ model: plain, contents: 'x' }), status(429, /RetryInfo.*7\.5s/s))
    await assert.rejects(models.generateContent({ model: plain, contents: 'x' }), status(503, /UNAVAILABLE/))
  })
})

test('files, caches, and stores belong to the account of a key, and reads are recorded', async () => {
  await using vendor = await startGemini({ keys: ['AIza-other'] })
  const file = vendor.keep({ kind: 'file', text: 'secret file' })
  const cachedContent = vendor.keep({ kind: 'cache', text: 'secret cache' })
  const store = vendor.keep({ kind: 'store', text: 'secret store' })
  const fileUri = `https://generativelanguage.googleapis.com/v1beta/${file}`
  const part = { fileData: { fileUri, mimeType: 'text/plain' } }
  const ways = [
    { contents: [{ role: 'user', parts: [part] }] },
    { contents: 'Hi', config: { cachedContent } },
    { contents: 'Hi', config: { tools: [{ fileSearch: { fileSearchStoreNames: [store] } }] } },
  ]
  for (const way of ways) {
    const answer = await client(vendor).models.generateContent({ model: plain, ...way })
    assert.match(answer.text!, /secret/)
    assert.match(vendor.requests.at(-1)!.seen!.read[0]!.text, /secret/)
    const stranger = client(vendor, 'AIza-other').models.generateContent({ model: plain, ...way })
    await assert.rejects(stranger, status(403, /permission/))
  }
  const web = { fileData: { fileUri: 'https://example.com/picture.png', mimeType: 'image/png' } }
  await client(vendor).models.generateContent({ model: plain, contents: [{ role: 'user', parts: [web] }] })
})
