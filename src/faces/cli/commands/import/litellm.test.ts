import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Ran, program, ranBy } from '#test/cli/uk.ts'
import { temporaryDir } from '#test/program.ts'
import { testServer } from '#test/server.ts'
import { planOf } from './litellm-plan.ts'

const config = `
model_list:
  - model_name: gpt-4o
    litellm_params: {model: openai/gpt-4o, api_key: os.environ/THEIR_OPENAI_KEY, rpm: 100}
    model_info: {input_cost_per_token: 0.0000025, output_cost_per_token: 0.00001}
  - model_name: fast
    litellm_params: {model: openai/gpt-4o-mini, api_key: os.environ/THEIR_OPENAI_KEY}
  - model_name: eu
    litellm_params: {model: azure/gpt-4o-eu, api_base: https://my-eu.openai.azure.com/, api_key: azure-secret-0123456789}
  - model_name: mine
    litellm_params: {model: hosted_vllm/facebook/opt-125m, api_base: http://127.0.0.1:9/v1}
  - model_name: lost
    litellm_params: {model: openai/x, api_key: os.environ/NOT_SET}
  - model_name: far
    litellm_params: {model: sagemaker/jumpstart}
  - {model_name: "openai/*", litellm_params: {model: "openai/*"}}
litellm_settings: {max_budget: 100, budget_duration: 30d, fallbacks: [{gpt-4o: [fast]}]}
general_settings: {master_key: sk-1234}
`

test('a config.yaml of LiteLLM becomes provider endpoints, once, with what is left out said and no key shown', async () => {
  await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.0/8' } })
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  using dir = temporaryDir()
  const env = {
    PATH: process.env.PATH!,
    HOME: dir.path,
    UK_KEY: key,
    UK_ORIGIN: server.origin,
    THEIR_OPENAI_KEY: 'sk-their-openai-key-0123456789',
  }
  const uk = (...words: string[]): Promise<Ran> => ranBy(spawn(program, words, { env }), '')
  const path = join(dir.path, 'config.yaml')
  await writeFile(path, config)
  const team = (await alice.post('/workspaces', { name: 'Gateway' })).body.data.id
  const words = ['import', 'litellm', path, '--workspace', 'Gateway']
  const dry = await uk(...words, '--dry-run')
  assert.equal(dry.code, 0, dry.err)
  assert.match(dry.err, /3 providers:\n {2}openai {2}at its own address {2}with its key {2}gpt-4o, gpt-4o-mini/)
  assert.match(dry.err, /fast → openai\/gpt-4o-mini/)
  assert.match(dry.err, /NOT_SET is not set in this environment[\s\S]*"sagemaker" is not known here[\s\S]*fallbacks/)
  const done = await uk(...words, '--yes')
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /3 providers were added\.\nThe budget of the workspace was set\./)
  for (const { out, err } of [dry, done]) assert.doesNotMatch(out + err, /sk-their|azure-secret|sk-1234/)
  const endpoints = (await alice.get('/ai-gateway/provider-endpoints?limit=100')).body.data.filter(
    (one: any) => one.workspace_id === team,
  )
  assert.deepEqual(endpoints.map((one: any) => [one.slug, one.base_url, one.has_api_key]).toSorted(), [
    ['azure-my-eu', 'https://my-eu.openai.azure.com/openai/v1', true],
    ['openai', 'https://api.openai.com/v1', true],
    ['vllm-127', 'http://127.0.0.1:9/v1', false],
  ])
  const openai = endpoints.find((one: any) => one.slug === 'openai')
  assert.deepEqual(openai.models[0].pricing, { input: 2.5, output: 10 })
  assert.equal((await alice.get(`/workspaces/${team}`)).body.data.spend_cap_usd, 100)
  assert.match((await uk(...words, '--yes')).err, /0 providers were added, 3 were there already/)

  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...Array.from(
      { length: 9 },
      (_, i) =>
        `b${i}: &b${i} [${Array(9)
          .fill(i === 0 ? '*a' : `*b${i - 1}`)
          .join(',')}]`,
    ),
  ]
  await writeFile(path, bomb.join('\n'))
  assert.match((await uk(...words, '--yes')).err, /is not a config\.yaml that can be read/)
  assert.throws(() => planOf([], {}), TypeError)
})
