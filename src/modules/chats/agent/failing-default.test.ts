import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { at, bring } from '#test/endpoints/house.ts'
import { type Person, type TestServer, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { startOpenAI } from '#test/vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'

let server: TestServer
let other: Awaited<ReturnType<TestServer['twin']>>
let vendor: Vendor
let person: Person
before(async () => {
  const environment = { UK_UPSTREAM_ALLOW: '127.0.0.1', UK_SIM: 'on' }
  server = await testServer({ environment })
  other = await server.twin()
  vendor = await startOpenAI()
  person = await server.person('Alice')
})
after(async () => {
  await vendor[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const defaultIn = async (origin: string): Promise<string> =>
  (await caller(origin, person.headers).get(`/app/chat-model?workspace_id=${person.workspaceId}`)).body.data.model
const send = async (more: object = {}) => {
  const chat = (await person.post('/chats', {})).body.data.id
  return person.post(`/chats/${chat}/messages`, { content: 'hello', ...more })
}

/** Errors that persist until the key, account or model name changes. */
const permanent = {
  'a bad key': { refuses: 'key' },
  'no credit': { refuses: 'quota' },
  'a forbidden model': { refuses: 'permission' },
  'an unknown model': { status: 404, type: 'invalid_request_error', code: 'model_not_found' },
} as const

for (const [reason, behavior] of Object.entries(permanent))
  test(`after ${reason}, every process defaults to another model until the first one answers again`, async () => {
    // Two providers; the first choice has the newest model.
    const endpoints = []
    for (const [i, slug] of ['first', 'second'].entries())
      endpoints.push(
        await bring(person, vendor, slug, { test: false, models: [{ id: i === 0 ? 'gpt-4o' : 'o4-mini' }] }),
      )
    try {
      const best = await until(
        () => defaultIn(server.origin),
        (model) => model !== 'sim/echo',
      )
      const [slug] = best.split('/')
      const spare = slug === 'first' ? 'second/o4-mini' : 'first/gpt-4o'
      vendor.script(behavior)
      const failed = await send()
      assert.equal(failed.status >= 400, true, failed.text)
      for (const origin of [server.origin, other.origin])
        await until(
          () => defaultIn(origin),
          (model) => model === spare,
        )
      const next = await send()
      assert.deepEqual([next.status, next.body.data?.run.model], [200, spare], next.text)
      // A test that only lists models doesn't clear the failure.
      const failing = endpoints.find((one) => one.slug === slug)!
      await person.post(`${at}/${failing.id}/test`, {})
      assert.equal(await defaultIn(server.origin), spare)
      // Naming the model works, and a success makes it the default again.
      const response = await send({ model: best })
      assert.deepEqual([response.status, response.body.data?.run.model], [200, best], response.text)
      for (const origin of [server.origin, other.origin])
        await until(
          () => defaultIn(origin),
          (model) => model === best,
        )
    } finally {
      for (const { id } of endpoints) await person.delete(`${at}/${id}`)
    }
  })

test('a failing instance default isn’t used while another model works', async () => {
  await using named = await server.twin({ UK_DEFAULT_MODEL: 'first/gpt-4o' })
  const { id } = await bring(person, vendor, 'first', { test: false, models: [{ id: 'gpt-4o' }] })
  await until(
    () => defaultIn(named.origin),
    (model) => model === 'first/gpt-4o',
  )
  vendor.script({ refuses: 'key' })
  assert.equal((await send({ model: 'first/gpt-4o' })).status >= 400, true)
  await until(
    () => defaultIn(named.origin),
    (model) => model === 'sim/echo',
  )
  await person.patch('/settings', { default_model: 'first/gpt-4o' })
  assert.equal(await defaultIn(named.origin), 'first/gpt-4o', 'a default chosen in the settings is kept')
  await person.patch('/settings', { default_model: null })
  await person.delete(`${at}/${id}`)
})
