import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { upload } from '#test/drive/drive.ts'
import { testDatabase } from '#test/database.ts'
import { type Caller, caller, testServer } from '#test/server.ts'
import { startEmbedder, startGeminiEmbedder, startOllamaEmbedder } from '#test/vendors/embedder/embedder.ts'
import { PATIENCE_MS } from '#test/until.ts'

const ask = (who: Pick<Caller, 'get'>, query: Record<string, string>) =>
  who.get(`/search?${new URLSearchParams(query).toString()}`)

test('semantic search finds texts without the query’s words, is billed, and falls back to keywords on failure', async () => {
  await using embedder = await startEmbedder()
  await using server = await testServer({
    environment: {
      OPENAI_API_KEY: embedder.key,
      OPENAI_BASE_URL: `${embedder.origin}/v1`,
      UK_EMBEDDING_MODEL: 'openai/text-embedding-3-small',
    },
  })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const texts = {
    'a.txt': 'The kitten has long whiskers and will purr.',
    'b.txt': 'An invoice is owed by the end of the month.',
    'c.txt': 'Take an umbrella, a storm comes with clouds.',
  }
  const ids = new Map<string, string>()
  for (const [name, text] of Object.entries(texts))
    ids.set(name, (await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from(text), name)).body.data.id)
  const first = async (query: Record<string, string>, wanted: string) => {
    for (const until = Date.now() + PATIENCE_MS; ;) {
      const answer = await ask(alice, query)
      if (answer.body.data?.[0]?.id === ids.get(wanted) || Date.now() > until) return answer
      await sleep(50)
    }
  }
  const feline = await first({ q: 'feline' }, 'a.txt')
  assert.equal(feline.body.data[0]?.id, ids.get('a.txt'), feline.text)
  assert.deepEqual(
    [feline.body.mode, feline.body.degraded, feline.body.data[0].matched_by],
    ['hybrid', [], ['semantic']],
  )
  assert.equal((await first({ q: 'weather', mode: 'semantic' }, 'c.txt')).body.data[0].id, ids.get('c.txt'))
  const both = await first({ q: 'invoice payment' }, 'b.txt')
  assert.deepEqual(both.body.data[0].matched_by, ['semantic'])
  const word = await first({ q: 'invoice' }, 'b.txt')
  assert.deepEqual(word.body.data[0].matched_by, ['keyword', 'semantic'])
  assert.deepEqual((await ask(bob, { q: 'feline' })).body.data, [], 'bob has nothing near or far')

  await alice.delete(`/drive/files/${ids.get('a.txt')}`)
  const without = await ask(alice, { q: 'feline', mode: 'semantic' })
  assert.ok(without.body.data.every(({ id }: { id: string }) => id !== ids.get('a.txt')))

  const usage = await alice.get('/me/usage?view=history&limit=100')
  const calls = usage.body.data.filter((call: { model: string }) => call.model === 'openai/text-embedding-3-small')
  assert.ok(calls.length >= 3, usage.text)
  assert.ok(calls.every((call: { cost_usd: number | null }) => call.cost_usd !== null && call.cost_usd > 0))

  // Moving a document doesn't change its text.
  const embedded = (word: string): number =>
    embedder.requests
      .filter(({ path }) => path === '/v1/embeddings')
      .flatMap((request) => request.json().input as string[])
      .filter((text) => text.includes(word)).length
  const before = embedded('owed')
  const { id: folder } = (await alice.post('/drive/files/folders', { workspace_id: alice.workspaceId, name: 'Bills' }))
    .body.data
  await alice.post(`/drive/files/${ids.get('b.txt')}/move`, { parent_id: folder })
  await upload(alice, { parent_id: folder }, Buffer.from('The dough is in the oven.'), 'd.txt')
  for (const until = Date.now() + PATIENCE_MS; embedded('dough') === 0 && Date.now() < until;) await sleep(50)
  assert.deepEqual([embedded('dough'), embedded('owed')], [1, before])

  embedder.script({ on: 'POST /v1/embeddings', status: 500, times: 50 })
  const degraded = await ask(alice, { q: 'invoice' })
  assert.deepEqual(
    [degraded.body.mode, degraded.body.degraded],
    ['keyword', ['semantic: the embedding model isn’t responding']],
  )
  assert.equal(degraded.body.data[0].id, ids.get('b.txt'))
})

test('Gemini uses its own protocol, and a free local engine is chosen automatically unless embedding is off', async () => {
  await using gemini = await startGeminiEmbedder()
  await using ollama = await startOllamaEmbedder()
  const cases = [
    {
      GEMINI_API_KEY: gemini.key,
      GEMINI_BASE_URL: `${gemini.origin}/v1beta`,
      UK_EMBEDDING_MODEL: 'google/gemini-embedding-001',
    },
    { OLLAMA_HOST: ollama.origin },
  ]
  for (const environment of cases) {
    await using server = await testServer({ environment })
    const alice = await server.person('Alice')
    const kitten = await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from('A kitten will purr.'), 'a.txt')
    await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from('Bread of one loaf.'), 'b.txt')
    const asking = () => ask(alice, { q: 'feline', mode: 'semantic' })
    let answer = await asking()
    for (
      const until = Date.now() + PATIENCE_MS;
      answer.body.data.length < 2 && Date.now() < until;
      answer = await asking()
    )
      await sleep(50)
    assert.deepEqual([answer.body.mode, answer.body.degraded], ['semantic', []], answer.text)
    assert.equal(answer.body.data[0].id, kitten.body.data.id)
    const usage = (await alice.get('/me/usage?view=history&limit=100')).body.data
    const costs = usage.map(({ cost_usd }: { cost_usd: number }) => cost_usd > 0)
    assert.deepEqual(new Set(costs), new Set([!('OLLAMA_HOST' in environment)]))
  }
  const requestCount = ollama.requests.length
  await using off = await testServer({ environment: { OLLAMA_HOST: ollama.origin, UK_EMBEDDING_MODEL: 'off' } })
  const bob = await off.person('Bob')
  assert.deepEqual((await ask(bob, { q: 'feline' })).body.degraded, ['semantic: no embedding model is configured'])
  assert.ok(ollama.requests.slice(requestCount).every(({ path }) => path !== '/v1/embeddings'))
})

test('after the embedding model changes, earlier documents are found by meaning again', async () => {
  await using embedder = await startEmbedder()
  await using gemini = await startGeminiEmbedder()
  await using database = await testDatabase()
  const first = { OPENAI_API_KEY: embedder.key, OPENAI_BASE_URL: `${embedder.origin}/v1` }
  const next = { GEMINI_API_KEY: gemini.key, GEMINI_BASE_URL: `${gemini.origin}/v1beta` }
  const findIds = async (who: Pick<Caller, 'get'>) => {
    let ids: string[] = []
    for (const until = Date.now() + PATIENCE_MS; ids.length < 2 && Date.now() < until; await sleep(50))
      ids = (await ask(who, { q: 'feline', mode: 'semantic' })).body.data.map(({ id }: { id: string }) => id)
    return ids
  }
  const words = ['A kitten will purr.', 'Bread of one loaf.', 'A storm with rain.']
  const at = { before: '', key: '', workspaceId: '' }
  {
    const environment = { ...first, UK_EMBEDDING_MODEL: 'openai/text-embedding-3-small' }
    await using server = await testServer({ database, environment })
    const alice = await server.person('Alice')
    const file = await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from(words[0]!), 'a.txt')
    await upload(alice, { workspace_id: alice.workspaceId }, Buffer.from(words[1]!), 'b.txt')
    Object.assign(at, { before: file.body.data.id, ...(await alice.key()), workspaceId: alice.workspaceId })
    assert.equal((await findIds(alice))[0], at.before)
  }
  const environment = { ...first, ...next, UK_EMBEDDING_MODEL: 'google/gemini-embedding-001' }
  await using server = await testServer({ database, environment })
  const alice = caller(server.origin, { authorization: `Bearer ${at.key}` })
  await upload(alice, { workspace_id: at.workspaceId }, Buffer.from(words[2]!), 'c.txt')
  assert.equal((await findIds(alice))[0], at.before)
})
