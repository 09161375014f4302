import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { testServer } from '#test/server.ts'

async function listening(answer: RequestListener) {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url!)
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** An engine with this model list, which answers every chat with one word. */
const engine = (path: string, rows: object[]) =>
  listening((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url === path) return void response.end(JSON.stringify({ object: 'list', data: rows }))
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end('{}')
    const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'here' } }]
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 }
    response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage }))
  })

const vllmRow = { id: 'qwen3', object: 'model', created: 1, owned_by: 'vllm', max_model_len: 40_960 }

test('local LM Studio, llama.cpp and vLLM are discovered and free, also under a spend cap', async () => {
  using vllm = await engine('/v1/models', [vllmRow])
  using studio = await engine('/api/v0/models', [
    { id: 'gemma-3', type: 'vlm', publisher: 'g', state: 'not-loaded', max_context_length: 8_192 },
    { id: 'nomic', type: 'embeddings', publisher: 'n', state: 'loaded', max_context_length: 2_048 },
  ])
  using llama = await engine('/v1/models', [{ id: 'phi', owned_by: 'llamacpp', meta: { n_ctx_train: 4_096 } }])
  await using server = await testServer({
    environment: { UK_LOCAL_ENGINES: `vllm=${vllm.host},lm-studio=${studio.host},llama-cpp=${llama.host}` },
  })
  const alice = await server.person('Alice')
  const providers = (await alice.get('/ai-gateway/providers')).body.data
  assert.deepEqual(
    providers
      .filter(({ source }: { source: string }) => source === 'discovered')
      .map(({ slug, billing }: { slug: string; billing: string }) => [slug, billing]),
    [
      ['llama-cpp', 'free'],
      ['lm-studio', 'free'],
      ['vllm', 'free'],
    ],
  )
  const contexts = await Promise.all(
    ['vllm/qwen3', 'lm-studio/gemma-3', 'llama-cpp/phi'].map(
      async (slug) => (await alice.get(`/models/${slug}`)).body.data,
    ),
  )
  assert.deepEqual(
    contexts.map(({ context_length }) => context_length),
    [40_960, 8_192, 4_096],
  )
  assert.deepEqual(contexts[1].capabilities, ['vision'])
  const key = await alice.key({ spend_cap_usd: 0 })
  for (const model of ['vllm/qwen3', 'lm-studio/gemma-3', 'llama-cpp/phi']) {
    const body = { model, messages: [{ role: 'user', content: 'hello' }] }
    const answer = await key.post('/compat-a/v1/chat/completions', body)
    assert.deepEqual([answer.status, answer.body.choices?.[0].message.content], [200, 'here'], answer.text)
  }
  assert.equal((await alice.get('/ai-gateway/usage')).body.data.total.cost_usd, 0)
})

test('another server at an engine’s port is never offered, and a silent one causes no delay', async () => {
  using own = await engine('/v1/models', [vllmRow, { id: 'mine', owned_by: 'me' }])
  using page = await listening((_, response) => void response.end('<html>a page</html>'))
  using silent = await listening(() => {})
  await using server = await testServer({
    environment: { UK_LOCAL_ENGINES: `vllm=${own.host},llama-cpp=${page.host},lm-studio=${silent.host}` },
  })
  const alice = await server.person('Alice')
  assert.equal(
    (await alice.post('/inference/text', { model: 'sim/echo', messages: [{ role: 'user', content: 'x' }] })).status,
    200,
  )
  const providers = (await alice.get('/ai-gateway/providers')).body.data
  assert.deepEqual(
    providers.map(({ slug }: { slug: string }) => slug),
    ['local', 'sim'],
  )
  assert.equal((await alice.get('/models/vllm/qwen3')).status, 404)
  assert.ok([...own.paths, ...page.paths].every((path) => path === '/v1/models'))
})

test('local media servers are recognized by their unique responses', async () => {
  const lists = (path: string, rows: object[]) =>
    listening((request, response) => {
      if (request.url !== path) return void response.writeHead(404).end('{}')
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ object: 'list', data: rows }))
    })
  using localAi = await lists('/v1/models/capabilities', [
    { id: 'flux', object: 'model', capabilities: ['image'] },
    { id: 'bge', object: 'model', capabilities: ['embeddings'] },
  ])
  using speaches = await lists('/v1/models', [
    { id: 'Systran/faster-whisper-small', created: 0, owned_by: 'Systran', task: 'automatic-speech-recognition' },
  ])
  using kokoro = await lists('/v1/models', [{ id: 'kokoro', object: 'model', created: 1, owned_by: 'kokoro' }])
  using diffusion = await lists('/v1/models', [{ id: 'sd-cpp-local', object: 'model', owned_by: 'local' }])
  using whisper = await listening((request, response) =>
    request.url === '/'
      ? void response.end('<html><head><title>Whisper.cpp Server</title></head></html>')
      : void response.writeHead(404).end(),
  )
  using page = await listening((_, response) => void response.end('<html><title>Another server</title></html>'))
  const engineAddresses = `local-ai=${localAi.host},speaches=${speaches.host},kokoro-fastapi=${kokoro.host},stable-diffusion-cpp=${diffusion.host}`
  await using server = await testServer({
    environment: { UK_LOCAL_ENGINES: `${engineAddresses},whisper-cpp=${whisper.host}` },
  })
  const alice = await server.person('Alice')
  const of = async (path: string): Promise<string[]> =>
    (await alice.get(`${path}?limit=100`)).body.data.map(({ slug }: { slug: string }) => slug)
  const slugs = [...(await of('/images/models')), ...(await of('/audio/models'))]
  assert.deepEqual(await of('/models'), ['sim/echo', 'sim/script'])
  for (const slug of [
    'local-ai/flux',
    'speaches/Systran/faster-whisper-small',
    'kokoro-fastapi/kokoro',
    'stable-diffusion-cpp/sd-cpp-local',
    'whisper-cpp/whisper',
  ])
    assert.ok(slugs.includes(slug), `${slug} of ${slugs.join(', ')}`)
  assert.deepEqual(whisper.paths, ['/'])

  await using other = await testServer({ environment: { UK_LOCAL_ENGINES: `whisper-cpp=${page.host}` } })
  const bob = await other.person('Bob')
  const providers = (await bob.get('/ai-gateway/providers')).body.data
  assert.deepEqual(
    providers.map(({ slug }: { slug: string }) => slug),
    ['local', 'sim'],
  )
})
