/**
 * Rules for every endpoint, derived from the registry and checked over HTTP, so that new endpoints are covered
 * automatically.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { z } from 'zod'
import { loadContracts } from '#modules/contracts.ts'
import { credentialsFor, resourceTypeOf, scopeOf } from '#core/access.ts'
import { type AnyEndpoint, pathNames } from '#core/contract.ts'
import { describeCode } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { type ListedEndpoint, inputSchemas, list } from '#core/registry.ts'
import { pathOf, requiredFields, validBody } from './pipeline/least-call.ts'
import { makers } from './makers.ts'
import { type Caller, type Person, type TestServer, testServer } from './server.ts'

let server: TestServer
let alice: Person
let bob: Person
let key: Caller & { key: string }
let bare: Caller & { key: string }
let bobsKey: Caller

before(async () => {
  server = await testServer({ environment: { UK_LIMIT_READS: '0', UK_LIMIT_WRITES: '0' } })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  key = await alice.key()
  bare = await alice.key({ scopes: [] })
  bobsKey = await bob.key()
})
after(() => server[Symbol.asyncDispose]())

/** Includes required query fields, so that only the tested part is refused. */
const request = (
  caller: Caller,
  { endpoint }: ListedEndpoint,
  id: string,
  body?: unknown,
  query = '',
  headers?: Record<string, string>,
) =>
  caller.request(endpoint.method, pathOf(endpoint, id) + query, endpoint.method === 'GET' ? undefined : body, headers)

const isOpen = ({ access }: AnyEndpoint): boolean => credentialsFor(access) === 'none'

for (const item of list(await loadContracts())) {
  const { name, endpoint } = item
  const takesSession = credentialsFor(endpoint.access) === 'session'
  const scope = scopeOf(endpoint.access)
  const type = resourceTypeOf(endpoint.access)
  describe(`${name}: ${endpoint.method} ${endpoint.path}`, () => {
    if (endpoint.refused !== undefined)
      return test('it is rejected for every caller and input', async () => {
        for (const caller of [server.stranger, alice, key]) {
          const answer = await request(caller, item, newId(), { no_such_field: 1 }, '?no_such_parameter=1')
          assert.deepEqual(
            [answer.status, answer.body.error.code],
            [describeCode(endpoint.refused!).status, endpoint.refused],
          )
        }
      })
    const callerFor = (): Caller => (takesSession ? alice : key)

    test('has a request ID and a version', async () => {
      const answer = await request(server.stranger, item, newId(), {})
      assert.match(answer.headers.get('x-request-id') ?? '', /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
      assert.equal(answer.headers.get('x-service-version'), '2026-11-21')
    })

    if (!isOpen(endpoint))
      test('without a key it is 401', async () => {
        const answer = await request(server.stranger, item, newId(), {})
        assert.deepEqual([answer.status, answer.body.error.type], [401, 'unauthenticated'])
      })

    if (takesSession)
      test('with a key, valid or not, it is 403', async () => {
        for (const headers of [
          key.headers,
          { 'x-api-key': 'uk_nonsense' },
          { ...key.headers, 'x-api-key': 'uk_other' },
        ]) {
          const answer = await request(server.stranger, item, newId(), {}, '', headers)
          assert.deepEqual([answer.status, answer.body.error.code], [403, 'cookie_session_required'])
        }
      })

    if (scope !== null && scope !== 'user:read')
      test('without its scope it is 403 and names the scope', async () => {
        const answer = await request(bare, item, newId(), {})
        assert.deepEqual(
          [answer.status, answer.body.error.code, answer.body.error.details?.required_scope],
          [403, 'missing_scope', scope],
        )
      })

    if (!isOpen(endpoint)) {
      test('an unknown query parameter is 400 and named', async () => {
        const answer = await request(callerFor(), item, newId(), undefined, '?no_such_parameter=1')
        assert.deepEqual(
          [answer.status, answer.body.error.code, answer.body.error.param],
          [400, 'unknown_parameter', 'no_such_parameter'],
        )
      })
      if (inputSchemas(endpoint).body !== null) {
        test('an unknown field, malformed JSON and another content type are refused', async () => {
          const unknown = await request(callerFor(), item, newId(), { no_such_field: 1 }, requiredFields(endpoint))
          assert.deepEqual([unknown.status, unknown.body.error.type], [400, 'invalid_request'])
          const malformedReply = await request(callerFor(), item, newId(), '{"a":', requiredFields(endpoint))
          assert.deepEqual([malformedReply.status, malformedReply.body.error.code], [400, 'malformed_json'])
          const other = await request(callerFor(), item, newId(), 'a=1', requiredFields(endpoint), {
            'content-type': 'text/plain',
          })
          assert.equal(other.status, 415)
        })
      }
      if (pathNames(endpoint.path).some((word) => !endpoint.params?.[word]))
        test('a malformed ID is 404', async () => {
          const answer = await request(callerFor(), item, 'not-an-id', validBody(endpoint), requiredFields(endpoint))
          assert.deepEqual([answer.status, answer.body.error.type], [404, 'not_found'])
        })
      if (pathNames(endpoint.path).length > 0 && !endpoint.params?.[pathNames(endpoint.path)[0]!])
        test('an unknown ID is 404', async () => {
          const answer = await request(callerFor(), item, newId(), validBody(endpoint), requiredFields(endpoint))
          assert.deepEqual([answer.status, answer.body.error.type], [404, 'not_found'], answer.text)
        })
    }

    const make = type === undefined ? undefined : makers[type]
    if (type !== undefined) {
      test('another account’s resource is 404', async () => {
        assert.ok(make, `test/makers.ts makes no ${type}`)
        const id = await make(alice)
        const stranger = takesSession ? bob : await bob.key()
        const answer = await request(stranger, item, id, validBody(endpoint), requiredFields(endpoint))
        assert.deepEqual([answer.status, answer.body.error.type], [404, 'not_found'], answer.text)
      })
    }

    const numbers = extremeNumbers(endpoint)
    if (numbers.length > 0 && !isOpen(endpoint))
      test('an extreme but valid number causes no server fault', async () => {
        // An administrator has no balance and is refused earlier for some endpoints.
        const by = make ? callerFor() : takesSession ? bob : bobsKey
        const id = make ? await make(alice) : newId()
        for (const [field, value] of numbers) {
          const body = { ...validBody(endpoint), [field]: value }
          const answer = await request(by, item, id, body, requiredFields(endpoint))
          assert.notEqual(answer.status, 500, `${field}: ${value}: ${answer.text}`)
        }
      })

    const { reply } = endpoint
    const listable = endpoint.method === 'GET' && !isOpen(endpoint) && (reply.kind === 'one' || reply.kind === 'page')
    if (listable && (pathNames(endpoint.path).length === 0 || (make && pathNames(endpoint.path).length === 1)))
      test('its response matches its schema, field by field', async () => {
        const id = make ? await make(alice) : newId()
        const answer = await request(callerFor(), item, id, undefined, requiredFields(endpoint))
        if (answer.status === 403 || answer.status === 404 || answer.status === 409) return
        assert.equal(answer.status, 200, answer.text)
        const single = reply.kind === 'one' ? reply.of : Array.isArray(answer.body.data) ? null : (reply.or ?? null)
        const schema = single ?? z.array(reply.of)
        const result = strictly(schema).safeParse(answer.body.data)
        assert.ok(result.success, result.error && z.prettifyError(result.error))
      })
  })
}

function extremeNumbers(endpoint: AnyEndpoint): [field: string, value: number][] {
  const { body } = inputSchemas(endpoint)
  return Object.entries(body?.shape ?? {}).flatMap(([field, schema]) =>
    [1e-10, 5e-324, -1e-10, 2 ** 53 - 1, 1e308, -1e308]
      .filter((value) => (schema as z.ZodType).safeParse(value).success)
      .map((value): [string, number] => [field, value]),
  )
}

const strictly = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodObject
    ? schema.strict()
    : schema instanceof z.ZodArray
      ? z.array(strictly(schema.element as z.ZodType))
      : schema
