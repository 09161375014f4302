import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual, promisify } from 'node:util'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { newestVersion } from '#core/contract.ts'
import { things } from '#test/every-kind.ts'
import { refusalsByStatus } from '../refusals.ts'
import { type Document, type Operation, type Response, openapi } from './openapi.ts'

const run = promisify(execFile)
const root = new URL('../../../', import.meta.url)
const options = { origin: 'http://127.0.0.1:4242', version: newestVersion }

async function inFile(document: object, use: (file: string) => Promise<unknown>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'uk-openapi-'))
  try {
    const file = join(folder, 'openapi.json')
    await writeFile(file, JSON.stringify(document))
    await use(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const redocly = (args: string[]) =>
  run(process.execPath, ['node_modules/@redocly/cli/bin/cli.js', ...args, '--config', 'redocly.yaml'], {
    cwd: root,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }).catch((error: { stderr: string; stdout: string }) => assert.fail(`${error.stdout}${error.stderr}`))

/** The linter's report on a document; throws on errors. */
const lint = (document: object) => inFile(document, (file) => redocly(['lint', file]))

test('the document of all areas passes the linter', async () => lint(openapi(await loadContracts(), options)))
test('the document of every kind of endpoint passes the linter', () => lint(openapi([things], options)))

test('openapi.json matches the contracts (npm run openapi writes it)', async () => {
  const written: unknown = JSON.parse(await readFile(new URL('openapi.json', root), 'utf8'))
  const now: unknown = JSON.parse(JSON.stringify(openapi(await loadContracts(), options)))
  assert.ok(isDeepStrictEqual(written, now), 'openapi.json is older than the contracts: run `npm run openapi`')
})

test('every endpoint appears once with a unique name', async () => {
  const areas = await loadContracts()
  const operations = Object.values(openapi(areas, options).paths).flatMap((path) => Object.values(path))
  const ids = operations.map(({ operationId }) => operationId)
  assert.deepEqual(
    ids.toSorted(),
    list(areas)
      .map(({ area, verb }) => `${area.name}_${verb}`)
      .toSorted(),
  )
  assert.equal(new Set(ids).size, ids.length)
})

test('each kind of reply has its own response', () => {
  const { paths, components } = openapi([things], options)
  const answer = (path: string, method: string): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(paths[path]![method]!.responses).map(([status, one]) => [
        status,
        '$ref' in one ? components.responses[one.$ref.split('/').at(-1)!] : one,
      ]),
    )
  const content = (path: string, method: string, status = '200') => {
    const { content } = answer(path, method)[status] as { content: Record<string, { schema: { properties: object } }> }
    return Object.entries(content).map(([type, { schema }]) => [type, Object.keys(schema.properties ?? {})])
  }
  assert.deepEqual(content('/things', 'get'), [['application/json', ['data', 'pagination']]])
  assert.deepEqual(content('/things', 'post', '201'), [['application/json', ['data']]])
  assert.deepEqual(content('/things/{id}/work', 'post', '202'), [['application/json', ['data']]])
  assert.deepEqual(content('/things/search', 'get')[0]![1], [
    'items',
    'total_count',
    'offset',
    'has_more',
    'query',
    'applied_filters',
  ])
  assert.equal(content('/things/{id}/watch', 'get')[0]![0], 'text/event-stream')
  assert.equal(content('/things/{name}/content', 'get')[0]![0], '*/*')
  assert.deepEqual(answer('/things/{id}', 'delete')['200'] && content('/things/{id}', 'delete'), [
    ['application/json', []],
  ])
  assert.ok('204' in answer('/things/forget', 'post'))
  // `times` is optional in requests and always present in responses.
  assert.deepEqual(components.schemas.Option!.required, ['mark', 'times'])
  assert.deepEqual(components.schemas.OptionInput!.required, ['mark'])
})

test('uploads are described as forms with binary content last', async () => {
  const { paths, ...rest } = openapi(await loadContracts(), options)
  const upload = paths['/drive/files']!.post!.requestBody!
  assert.deepEqual(Object.keys(upload.content), ['multipart/form-data'])
  const { schema, encoding } = upload.content['multipart/form-data']!
  const { description: _, ...file } = schema.properties!.file!
  assert.deepEqual(file, { format: 'binary', contentMediaType: 'application/octet-stream' })
  assert.deepEqual(encoding, { file: { contentType: 'application/octet-stream' } })
  assert.equal(Object.keys(schema.properties!).at(-1), 'file')
  const contentOf = (path: string, method: string) => Object.keys(paths[path]![method]!.requestBody!.content)
  assert.deepEqual(contentOf('/inference/images', 'post'), ['multipart/form-data', 'application/json'])
  assert.deepEqual(contentOf('/drive/uploads/{id}', 'patch'), ['application/offset+octet-stream'])
  for (const { url, docs, reference } of rest['x-uk-gateways']) {
    assert.ok(url.startsWith(options.origin) && docs.startsWith(`${options.origin}/docs/gateways#`))
    assert.match(reference, /^https:/)
  }
})

test('scope, credentials and errors show who can call an endpoint', () => {
  const { paths, components } = openapi([things], options)
  const get = paths['/things/{id}']!.get as Operation
  assert.equal(get['x-uk-scope'], 'chat:read')
  assert.equal(get['x-uk-cli'], 'uk things get')
  assert.equal(get.security, undefined)
  assert.deepEqual(Object.keys(get.responses), ['200', '304', '400', '401', '403', '404', '429', '500', '503'])
  const forget = paths['/things/forget']!.post as Operation
  assert.deepEqual(forget.security, [{ session: [] }])
  assert.deepEqual(forget.responses['403'], { $ref: '#/components/responses/CookieSessionRequiredOrCrossSite' })
  assert.match(JSON.stringify(components.responses.CookieSessionRequiredOrCrossSite), /cookie_session_required/)
})

test('resolving references finds every error of every endpoint', async () => {
  const areas = await loadContracts()
  await inFile(openapi(areas, options), async (file) => {
    const whole = `${file}.whole.json`
    await redocly(['bundle', file, '--dereferenced', '--output', whole])
    const { paths } = JSON.parse(await readFile(whole, 'utf8')) as Document
    for (const { endpoint } of list(areas)) {
      const operation = paths[endpoint.path.replace(/:(\w+)/g, '{$1}')]![endpoint.method.toLowerCase()]!
      for (const [status, may] of refusalsByStatus(endpoint)) {
        const { description, content } = operation.responses[status] as Response
        const said = [...description.matchAll(/^`(\w+)`: ./gm)].map(([, code]) => code)
        assert.deepEqual(said, may, `${endpoint.method} ${endpoint.path} ${status}`)
        assert.ok(content!['application/json']!.schema.properties, 'the shape of an error')
      }
    }
  })
})
