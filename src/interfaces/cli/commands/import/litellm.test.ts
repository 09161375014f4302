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

test('a LiteLLM config.yaml becomes provider endpoints once, with skipped items reported and keys hidden', async () => {
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
  assert.match(dry.err, /3 providers:\n {2}openai {2}default URL {2}with key {2}gpt-4o, gpt-4o-mini/)
  assert.match(dry.err, /fast → openai\/gpt-4o-mini/)
  assert.match(dry.err, /NOT_SET isn't set in this environment[\s\S]*unknown provider "sagemaker"[\s\S]*fallbacks/)
  const done = await uk(...words, '--yes')
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /Added 3 providers\.\nSet the workspace budget\./)
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
  assert.match((await uk(...words, '--yes')).err, /Added 0 providers\. 3 already existed/)

  // Virtual keys, known only by their hashes.
  const theirs = { token: 'c0ffee'.repeat(10), spend: 3, team_id: null, blocked: null, expires: null }
  const keysPath = join(dir.path, 'keys.json')
  await writeFile(
    keysPath,
    JSON.stringify({
      keys: [
        {
          ...theirs,
          key_alias: 'bot',
          models: ['fast', 'gpt-4o'],
          max_budget: 5,
          budget_duration: '30d',
          rpm_limit: 9,
        },
        { ...theirs, key_alias: null, key_name: 'sk-...abcd', models: [], max_budget: null },
        { ...theirs, key_alias: 'odd', models: [], max_budget: 5, budget_duration: '10d' },
        { ...theirs, key_alias: 'elsewhere', models: ['nobody-knows'] },
        { ...theirs, key_alias: 'over', models: [], expires: '2020-01-01T00:00:00Z' },
        'only-a-hash',
      ],
    }),
  )
  const keyWords = [...words, '--keys', keysPath]
  const dryKeys = await uk(...keyWords, '--dry-run')
  assert.match(dryKeys.err, /2 new keys\. LiteLLM stores only hashes/)
  assert.match(
    dryKeys.err,
    /bot {2}5 USD per month {2}openai\/gpt-4o-mini, openai\/gpt-4o\n {2}sk-\.\.\.abcd {2}no cap {2}all models/,
  )
  assert.match(
    dryKeys.err,
    /bot: rpm_limit[^]*odd: budget period 10d[^]*elsewhere: none of its models[^]*over: expired[^]*only a hash/,
  )
  const active = async () => (await alice.get('/api-keys?status=active&limit=100')).body.data
  assert.equal(
    (await active()).some((one: any) => one.name === 'bot'),
    false,
    'a dry run makes none',
  )
  const person = ['--yes', '--email', alice.email, '--password-stdin']
  const made = await ranBy(spawn(program, [...keyWords, ...person], { env }), alice.password)
  assert.equal(made.code, 0, made.err)
  const [, bot] = /^(uk_[0-9A-Za-z]{49}) {2}bot$/m.exec(made.out)!
  assert.doesNotMatch(made.out + made.err, /c0ffee/)
  const row = (await active()).find((one: any) => one.name === 'bot')
  assert.deepEqual(
    [row.workspace_id, row.spend_cap_usd, row.spend_cap_period, row.allowed_models.toSorted()],
    [team, 5, 'month', ['openai/gpt-4o', 'openai/gpt-4o-mini']],
  )
  const asked = await fetch(`${server.origin}/compat-a/v1/models`, { headers: { authorization: `Bearer ${bot}` } })
  assert.equal(asked.status, 200)
  const again = await ranBy(spawn(program, [...keyWords, ...person], { env }), alice.password)
  assert.match(again.err, /Keys with these names already exist: bot, sk-\.\.\.abcd/)
  // Fails midway: keys created so far are still shown, since they can't be shown later.
  const halves = [
    { ...theirs, key_alias: 'first', models: [] },
    { ...theirs, key_alias: 'rich', models: [], max_budget: 9_000_000 },
  ]
  await writeFile(keysPath, JSON.stringify({ keys: halves }))
  const half = await ranBy(spawn(program, [...keyWords, ...person], { env }), alice.password)
  assert.notEqual(half.code, 0)
  assert.match(half.out, /^uk_[0-9A-Za-z]{49} {2}first$/m)
  assert.match(half.err, /Created 1 key\.[^]*spend_cap_usd/)

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
  assert.match((await uk(...words, '--yes')).err, /isn't a valid config\.yaml/)
  assert.throws(() => planOf([], {}), TypeError)
  assert.match(planOf({ general_settings: {} }, {}).left[0]!, /^model_list: not in this file/)
})
