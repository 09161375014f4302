import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { recorder } from '#test/cli/uk.ts'
import type { Incoming } from '../../client.ts'
import { exampleOf } from '../../example.ts'
import { convert } from '../../schemas.ts'
import { createdLines, creations } from './created.ts'
import { print } from './print.ts'

const origin = 'http://127.0.0.1:4242'
const registry = list(await loadContracts())

/** Endpoints that return 201 without a resource page. */
const results = new Set([
  'auth.sign_up',
  'passkeys.create',
  'identities.link',
  'admin.credits',
  'admin.refund',
  'computers.terminal_ticket',
  'computers.port_ticket',
  'computers.upload',
  'computers.create_user',
  'computers.pair',
  'notifications.push_subscribe',
  'webhooks.redeliver',
  'catalogues.refresh',
])

const isCreation = ({ name, endpoint: { method, reply, status } }: (typeof registry)[number]): boolean =>
  method === 'POST' &&
  ((reply.kind === 'one' && status === 201) || (reply.kind === 'operation' && name.endsWith('.create')))

/** Paths of the app's pages, with `$` for parameters. */
const pages = new Set(
  globSync('web/src/router/*.ts', { cwd: join(import.meta.dirname, '../../../..') })
    .flatMap((file) => [
      ...readFileSync(join(import.meta.dirname, '../../../..', file), 'utf8').matchAll(/path: '([^']+)'/g),
    ])
    .map(([, path]) => path!.replaceAll(/\$\w+/g, '$'))
    .flatMap((path) => [path, `/ai-routing${path}`]),
)

function exampleAnswer(name: string): Record<string, unknown> {
  const { reply } = registry.find((one) => one.name === name)!.endpoint as { reply: { of: never } }
  const { schemas, defs } = convert('output', { answer: reply.of })
  return exampleOf(schemas.answer!, defs, 'answer') as Record<string, unknown>
}

const answer = (data: object, status: number): Incoming => ({
  status,
  header: () => null,
  text: async () => JSON.stringify({ data }),
  bytes: async function* () {},
})

async function printed(
  name: string,
  data: object,
  globals: object,
  interactive: boolean,
  status = 201,
): Promise<string> {
  const terminal = recorder({ interactive })
  const listed = registry.find((one) => one.name === name)!
  const next = () => assert.fail('it has no pages')
  await print({ listed, origin, response: answer(data, status), next, open: next, globals, terminal })
  return terminal.said.join('')
}

test('every command that creates something prints one line with an app link', async () => {
  const names = registry.filter(isCreation).map(({ name }) => name)
  assert.deepEqual(
    names.filter((name) => !(name in creations) && !results.has(name)),
    [],
    'a new command that creates something belongs into `creations`',
  )
  assert.deepEqual(
    Object.keys(creations).filter((name) => !registry.some((one) => one.name === name)),
    [],
  )
  for (const [name, { page, shows = [] }] of Object.entries(creations)) {
    assert.ok(pages.has(page.replaceAll(/:\w+/g, '$').replace(/^\/drive\/f\/.*/, '/drive/f/$')), `${name}: ${page}`)
    if (name === 'cloud_computers.create') continue
    const data = exampleAnswer(name)
    for (const interactive of [true, false]) {
      const [line, ...others] = (await printed(name, data, {}, interactive)).trimEnd().split('\n')
      assert.match(line!, new RegExp(`^[A-Z][a-z]+ [A-Za-z ]+(".+")?( ?\\(.+\\))?  ${origin}/app/[^ :]*$`), name)
      assert.ok(line!.includes(String(data.id)) || page.includes(':'), `${name}: ${line}`)
      const secrets = shows.filter((field) => typeof data[field] === 'string')
      assert.deepEqual(
        others.map((text) => text.split(/ +/)[0]),
        secrets,
        name,
      )
      for (const field of secrets)
        assert.ok(
          others.some((text) => text.endsWith(String(data[field]))),
          `${name} ${field}`,
        )
    }
    assert.equal(
      await printed(name, data, { json: true }, true),
      `${JSON.stringify({ data })}\n`,
      'with --json as the API gives it',
    )
    assert.equal(await printed(name, { ...data, id: 'ID' }, { query: 'id' }, false), 'ID\n')
  }
})

test('the line names the action and the resource', () => {
  const line = (name: string, data: Record<string, unknown>, status = 201): string | undefined =>
    createdLines({ name, data, status, origin }, recorder())?.split('\n')[0]
  assert.equal(line('chats.create', { id: 'C', title: 'Trip' }), `Created chat "Trip"  ${origin}/app/chats/C`)
  assert.equal(line('chats.create', { id: 'C', title: null }), `Created chat  ${origin}/app/chats/C`)
  const file = { id: 'F', name: 'a.txt', kind: 'file' }
  assert.equal(
    line('drive.upload', { ...file, content_version: 1 }),
    `Uploaded file "a.txt"  ${origin}/app/drive/file/F`,
  )
  assert.equal(
    line('drive.upload', { ...file, content_version: 2 }),
    `Updated file "a.txt"  ${origin}/app/drive/file/F`,
  )
  const folder = { id: 'D', name: 'Reports', kind: 'folder' }
  assert.equal(line('drive.create_folder', folder), `Created folder "Reports"  ${origin}/app/drive/f/D`)
  assert.equal(line('drive.create_folder', folder, 200), `Found folder "Reports"  ${origin}/app/drive/f/D`)
  assert.equal(
    line('api_keys.create', { id: 'K', name: 'programs' }),
    `Created API key "programs" (K)  ${origin}/app/ai-routing/keys`,
  )
  const hostile = { id: '../x', title: 'a\u001b[2J\nb' + 'c'.repeat(100) }
  assert.match(line('chats.create', hostile)!, /^Created chat "a b?c*…?.*"  .*\/chats\/\.\.%2Fx$/)
  const running = { id: 'O', status: 'running', progress: null, result: null, completed_at: null }
  assert.equal(
    line('cloud_computers.create', running),
    `Creating computer in the background (O)  ${origin}/app/operations/O`,
  )
  const done = { ...running, status: 'succeeded', completed_at: 'now', result: { id: 'B', name: 'box' } }
  assert.equal(line('cloud_computers.create', done), `Created computer "box"  ${origin}/app/computers/B`)
  assert.equal(line('cloud_computers.create', { ...running, status: 'failed', completed_at: 'now' }), undefined)
  assert.equal(line('chats.list', { id: 'C' }), undefined)
})
