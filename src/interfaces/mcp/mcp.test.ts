import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Agent, agentAt, modes } from '#test/mcp/mcp.ts'
import { notesService } from '#test/mcp/notes.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'

const { service, seen } = notesService()
let server: TestServer
let alice: Person
let bob: Person

before(async () => {
  server = await testServer({ services: [service] })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(() => server[Symbol.asyncDispose]())

const agentFor = async (person: Person, scopes = ['*'], mode: keyof typeof modes = '2026-07-28'): Promise<Agent> =>
  agentAt(server.origin, (await person.key({ scopes })).key, modes[mode])

for (const mode of Object.keys(modes) as (keyof typeof modes)[])
  describe(`over HTTP, the client in mode ${mode}`, () => {
    test("alice's agent finds how to make an agent, reads how, does it, and reads it back", async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      assert.deepEqual(
        (await agent.client.listTools()).tools.map(({ name }) => name),
        ['find', 'describe', 'do'],
      )

      const found = await agent.tell('find', { query: 'make a new agent' })
      assert.equal(found.said.data[0].name, 'agents.create')
      assert.equal(found.said.data[0].scope, 'agent:write')
      assert.match(found.said.data[0].arguments, /^name: string, /)

      const described = await agent.tell('describe', { name: 'agents.create' })
      assert.deepEqual(described.said.input.required, ['name'])
      assert.ok(described.said.answer.properties.data)
      assert.ok(described.said.errors.some(({ code }: { code: string }) => code === 'missing_scope'))

      const made = await agent.tell('do', { name: 'agents.create', input: { name: `Ada ${mode}`, model: 'sim/echo' } })
      assert.equal(made.error, false)
      assert.deepEqual(JSON.parse(made.content[0].text), made.said)
      const read = await agent.tell('do', { name: 'agents.get', input: { id: made.said.data.id } })
      assert.deepEqual(read.said, made.said)
      assert.deepEqual((await alice.get(`/agents/${made.said.data.id}`)).body, read.said)
      const listed = await agent.tell('do', { name: 'agents.list', input: { limit: 1 } })
      assert.equal(listed.said.data.length, 1)
      assert.equal(typeof listed.said.pagination.has_more, 'boolean')
    })

    test('the example from `describe` is a working call', async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      const { said } = await agent.tell('describe', { name: 'agents.create' })
      assert.equal((await agent.tell('do', said.example)).error, false)
    })

    test('a call without the scope fails as in REST and is not offered', async () => {
      await using agent = await agentFor(alice, ['agent:read'], mode)
      const refused = await agent.tell('do', { name: 'agents.create', input: { name: 'Eve' } })
      assert.equal(refused.error, true)
      assert.deepEqual(refused.said.error.details, { required_scope: 'agent:write' })
      assert.equal(refused.said.error.code, 'missing_scope')
      const found = await agent.tell('find', { query: 'create an agent' })
      assert.ok(found.said.data.every(({ scope }: { scope: string }) => scope !== 'agent:write'))
      assert.deepEqual(found.said.lacking_scope[0], { name: 'agents.create', scope: 'agent:write' })
      assert.equal((await agent.tell('describe', { name: 'agents.create' })).said.allowed, false)
    })

    test("another account's agent is not found", async () => {
      await using mine = await agentFor(alice, ['*'], mode)
      await using theirs = await agentFor(bob, ['*'], mode)
      const { id } = (await mine.tell('do', { name: 'agents.create', input: { name: 'Private' } })).said.data
      const peek = await theirs.tell('do', { name: 'agents.get', input: { id } })
      assert.deepEqual([peek.error, peek.said.error.type, peek.said.error.param], [true, 'not_found', 'id'])
    })

    test('endpoints for signed-in users only are rejected', async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      for (const name of ['api_keys.create', 'auth.sign_in'])
        assert.equal((await agent.tell('do', { name, input: {} })).said.error.code, 'cookie_session_required')
    })

    test('wrong arguments are named', async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      const cases: [string, Record<string, unknown>, string, string][] = [
        ['do', { name: 'agents.create', input: {} }, 'missing_parameter', 'name'],
        ['do', { name: 'agents.create', input: { name: 'x', nmae: 1 } }, 'unknown_parameter', 'nmae'],
        ['do', { name: 'agents.create', input: [] }, 'invalid_parameter', 'input'],
        ['do', {}, 'missing_parameter', 'name'],
        ['find', { query: 'x', limit: 0 }, 'invalid_parameter', 'limit'],
        ['describe', { name: 'agents.create', deep: true }, 'unknown_parameter', 'deep'],
      ]
      for (const [tool, args, code, param] of cases) {
        const { error, said } = await agent.tell(tool, args)
        assert.deepEqual([error, said.error.code, said.error.param], [true, code, param])
      }
      const unknown = await agent.tell('describe', { name: 'agents.make' })
      assert.equal(unknown.said.error.type, 'not_found')
      assert.ok(unknown.said.error.details.near.includes('agents.create'))
    })

    test('an input encoded as a JSON string is accepted', async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      const { said } = await agent.tell('do', { name: 'notes.create', input: '{"text":"as text"}' })
      assert.equal(said.data.text, 'as text')
    })

    test('every kind of reply has a result', async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      const act = async (verb: string, input: Record<string, unknown> = {}) =>
        agent.tell('do', { name: `notes.${verb}`, input })
      const { id } = (await act('create', { text: 'hé' })).said.data
      assert.deepEqual((await act('print', { id })).said.data.status, 'queued')
      const text = await act('text', { id: id.toLowerCase() })
      assert.deepEqual([text.said.data.text, text.said.data.size_bytes], ['hé', 3])
      const picture = await act('picture', { id })
      assert.deepEqual(picture.content[1], { type: 'image', data: 'iVBORw==', mimeType: 'image/png' })
      assert.deepEqual((await act('delete', { id })).said, { deleted: true, id })
      assert.deepEqual((await act('clear')).said, {})
      const long = (await act('create', { text: 'x'.repeat(70_000) })).said.data.id
      const linked = await act('text', { id: long })
      assert.equal(linked.said.data.text, null)
      assert.deepEqual([linked.content[1].type, linked.content[1].uri], ['resource_link', linked.said.data.url])
      const key = await alice.key()
      assert.equal((await key.get(new URL(linked.said.data.url).pathname)).text.length, 70_000)
    })

    test('a stream is read to its end with joined deltas and progress', async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      const { id } = (await agent.tell('do', { name: 'notes.create', input: { text: 'spell' } })).said.data
      const told: unknown[] = []
      const { said } = await agent.tell(
        'do',
        { name: 'notes.spell', input: { id } },
        { onprogress: (one) => told.push(one) },
      )
      assert.deepEqual(said, {
        events: [
          { id: '4', event: 'text.delta', data: { delta: 'spell', seq: 4 } },
          { id: '5', event: 'tick', data: { seq: 5 } },
        ],
        complete: true,
        last_event_id: '5',
      })
      assert.equal(told.length, 6)
    })

    test('a disconnecting caller cancels its call', async () => {
      const agent = await agentFor(alice, ['*'], mode)
      const { id } = (await agent.tell('do', { name: 'notes.create', input: { text: 'a' } })).said.data
      const before = seen.left
      seen.spelling = Promise.withResolvers()
      const call = agent.tell('do', { name: 'notes.spell', input: { id, forever: true } })
      await Promise.all([assert.rejects(call), seen.spelling.promise.then(() => agent.client.close())])
      while (seen.left === before) await new Promise((resolve) => setImmediate(resolve))
    })

    test('a revoked key ends its stream with the reason', async () => {
      const key = await alice.key()
      await using agent = await agentAt(server.origin, key.key, modes[mode])
      const { id } = (await agent.tell('do', { name: 'notes.create', input: { text: 'a' } })).said.data
      seen.spelling = Promise.withResolvers()
      const call = agent.tell('do', { name: 'notes.spell', input: { id, forever: true } })
      await seen.spelling.promise
      assert.equal((await alice.delete(`/api-keys/${key.keyId}`)).status, 200)
      const { error, said } = await call
      assert.deepEqual([error, said.error.code], [true, 'revoked_api_key'])
      await assert.rejects(agent.tell('find', { query: 'agent' }))
    })

    test('an internal error reveals nothing', async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      const { error, said, content } = await agent.tell('do', { name: 'notes.fail' })
      assert.deepEqual([error, said.error.type], [true, 'internal_error'])
      assert.doesNotMatch(JSON.stringify(content), /secret/)
    })

    test('an unknown tool is -32602', async () => {
      await using agent = await agentFor(alice, ['*'], mode)
      await assert.rejects(agent.tell('delete', {}), { code: -32602 })
    })
  })
