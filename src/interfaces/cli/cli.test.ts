import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { type Ran, program, ranBy, recorder } from '#test/cli/uk.ts'
import { testServer } from '#test/server.ts'
import { things } from '#test/every-kind.ts'
import { parseArguments } from './input/arguments.ts'
import { columnsOf } from './output/columns.ts'
import { Stop, exits } from './exit.ts'
import { fieldsOf } from './input/fields.ts'
import { followRun } from './output/follow.ts'
import { run } from './run.ts'
import { table } from './output/table.ts'
import { type Terminal, clean, fit, widthOf } from './terminal.ts'

const home = await mkdtemp(join(tmpdir(), 'uk-cli-'))
after(() => rm(home, { recursive: true }))

/** Runs `uk` in its own home folder. */
const uk = (
  words: readonly string[],
  { stdin = '', env = {} }: { stdin?: string; env?: Record<string, string> } = {},
): Promise<Ran> => ranBy(spawn(program, words, { env: { PATH: process.env.PATH!, HOME: home, ...env } }), stdin)

test('a user signs up, works and logs out in one home folder', async () => {
  await using server = await testServer()
  const { origin } = server

  const nobody = await uk(['me', 'get', '--origin', origin])
  assert.equal(nobody.code, exits.auth[0])
  assert.match(nobody.err, /Not signed in.*\n.*uk login/)

  const short = await uk(
    ['sign-up', '--origin', origin, '--email', 'ada@example.com', '--name', 'Ada', '--password-stdin'],
    { stdin: 'short\n' },
  )
  assert.equal(short.code, exits.usage[0])
  assert.match(short.err, /password.*\nCheck --password-stdin\. See `uk sign-up --help`/)

  const signedUp = await uk(
    ['sign-up', '--origin', origin, '--email', 'ada@example.com', '--name', 'Ada', '--password-stdin'],
    { stdin: 'a long password\n' },
  )
  assert.equal(signedUp.code, 0, signedUp.err)
  assert.equal(signedUp.out, '')
  const twice = await uk(
    ['sign-up', '--origin', origin, '--email', 'ada@example.com', '--name', 'Ada', '--password-stdin'],
    { stdin: 'a long password\n' },
  )
  assert.equal(twice.code, exits.conflict[0])
  assert.match(twice.err, /uk login/)
  const file = join(home, '.config/ukiyo/credentials.json')
  const kept = JSON.parse(await readFile(file, 'utf8')) as { key: string; key_id: string; origin: string }
  assert.match(kept.key, /^uk_[0-9A-Za-z]{49}$/)
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(join(home, '.config/ukiyo'))).mode & 0o777, 0o700)

  const me = await uk(['me', 'get', '--json'])
  assert.equal((JSON.parse(me.out) as { data: { email: string } }).data.email, 'ada@example.com')
  const asked = await fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${kept.key}` } })
  assert.equal(me.out, `${await asked.text()}\n`, 'with --json exactly what the API answers')
  const whoami = await uk(['whoami'])
  assert.match(whoami.out, /email +ada@example\.com/)
  assert.ok(!whoami.out.includes(kept.key))

  // Another origin never sees the stored key.
  const elsewhere = await uk(['whoami'], { env: { UK_ORIGIN: 'http://localhost:1' } })
  assert.equal(elsewhere.code, exits.auth[0])

  const dated = await uk(['me', 'usage', '--from', '7d', '--to', 'today', '--json'])
  assert.equal(dated.code, 0, dated.err)
  assert.equal((await uk(['me', 'usage', '--from', 'soon'])).code, exits.usage[0])

  // A session-only command asks for the password for this one call.
  const keys = await uk(['api-keys', 'list', '--password-stdin'], { stdin: 'a long password' })
  assert.equal(keys.code, 0, keys.err)
  assert.match(keys.out, /^id\tname\tstatus/)
  const from = Date.now()
  const brief = await uk(
    ['api-keys', 'create', 'brief', '--scopes', 'user:read', '--expires-at', '1h', '--password-stdin', '--json'],
    { stdin: 'a long password' },
  )
  const { expires_at } = (JSON.parse(brief.out) as { data: { expires_at: string } }).data
  const expires = Date.parse(expires_at) - 3_600_000
  assert.ok(expires >= from - 1_000 && expires <= Date.now() + 1_000, expires_at)
  assert.ok(keys.out.includes(kept.key_id))
  const wrong = await uk(['api-keys', 'list', '--password-stdin'], { stdin: 'a wrong password' })
  assert.equal(wrong.code, exits.auth[0])
  assert.match(wrong.err, /request ID [0-9A-Z]{26}/)

  const again = await uk(['login', '--origin', origin, '--email', 'ada@example.com', '--password-stdin'], {
    stdin: 'a long password\n',
  })
  assert.equal(again.code, 0, again.err)
  const renewed = await fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${kept.key}` } })
  assert.equal(renewed.status, 401, 'the key of the login before is revoked')
  const sessions = await uk(['auth', 'sessions', '--password-stdin', '--json'], { stdin: 'a long password' })
  assert.equal((JSON.parse(sessions.out) as { data: object[] }).data.length, 1, 'only that of this very call')

  const changed = await uk(['settings', 'update', '--theme', 'dark', '--json'])
  assert.equal((JSON.parse(changed.out) as { data: { theme: string } }).data.theme, 'dark')
  const refused = await uk(['settings', 'update', '--theme', 'purple'])
  assert.equal(refused.code, exits.usage[0])
  assert.match(refused.err, /--theme/)
  const asJson = await uk(['settings', 'update', '--theme', 'purple', '--json'])
  assert.equal((JSON.parse(asJson.err) as { error: { param: string } }).error.param, 'theme')
  const fromFile = join(home, 'settings.json')
  await writeFile(fromFile, '{"theme":"light","locale":"de-DE"}')
  const both = await uk(['settings', 'update', '--input', fromFile, '--theme', 'system', '--json'])
  assert.deepEqual(pick(both.out, 'theme', 'locale'), { theme: 'system', locale: 'de-DE' })
  const emptied = await uk(['settings', 'update', '--locale', 'null', '--json'])
  assert.deepEqual(pick(emptied.out, 'locale'), { locale: null })

  const out = await uk(['logout'])
  assert.match(out.err, /api-keys revoke/)
  assert.equal((await uk(['whoami', '--origin', origin])).code, exits.auth[0])
  const key = await uk(['me', 'get', '--origin', origin], { env: { UK_KEY: `uk_${'0'.repeat(49)}` } })
  assert.equal(key.code, exits.auth[0])
})

const pick = (json: string, ...names: string[]): Record<string, unknown> => {
  const { data } = JSON.parse(json) as { data: Record<string, unknown> }
  return Object.fromEntries(names.map((name) => [name, data[name]]))
}

test('an unreachable server exits with 7 and a hint', async () => {
  const ran = await uk(['me', 'get', '--origin', 'http://127.0.0.1:9'], { env: { UK_KEY: 'uk_x' } })
  assert.equal(ran.code, exits.unreachable[0])
  assert.match(ran.err, /npm start/)
})

test('a mistyped word suggests the closest one', async () => {
  const terminal = recorder()
  assert.equal(await run(['api-keyz', 'list'], terminal), exits.usage[0])
  assert.match(terminal.told.join('\n'), /Unknown command "api-keyz"\.\nDid you mean `api-keys`\?/)
  const verb = recorder()
  assert.equal(await run(['api-keys', 'lst'], verb), exits.usage[0])
  assert.match(verb.told.join('\n'), /Unknown command "api-keys lst"\.\nDid you mean `api-keys list`\?/)
})

test('Ctrl-C while following a run prints how to follow or stop it', () => {
  let interrupt = () => {}
  const terminal = recorder({ onInterrupt: (say) => ((interrupt = say), () => (interrupt = () => {})) })
  assert.equal(followRun('chats.list', {}, terminal), null)
  {
    using run = followRun('chats.stream', { id: 'CHAT' }, terminal)
    run!.id = 'RUN'
    interrupt()
  }
  interrupt()
  assert.equal(terminal.told.length, 1)
  assert.match(terminal.told[0]!, /continues\. Follow it: `uk chats events CHAT RUN`\. .* `uk chats stop CHAT`/)
})

test('hints name available options, and are omitted if there are none', async () => {
  await using server = await testServer()
  const { origin } = server
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  const asAlice = { env: { UK_KEY: key, UK_ORIGIN: origin } }
  const chat = (await alice.post('/chats', { model: 'sim/echo' })).body.data.id as string
  await alice.post(`/chats/${chat}/messages`, { content: 'hello' })
  const stopped = await uk(['chats', 'stop', chat], asAlice)
  assert.equal(stopped.code, exits.conflict[0])
  assert.match(stopped.err, /^uk: There is nothing to stop.*\nrequest ID \w+\n$/)
  const refused = await uk(['chats', 'list'], { env: { UK_KEY: `uk_${'0'.repeat(49)}`, UK_ORIGIN: origin } })
  assert.match(refused.err, /comes from UK_KEY/)
  const help = recorder()
  assert.equal(await run(['help', 'zzzzzz'], help), exits.usage[0])
  assert.match(help.told.join('\n'), /See `uk help`\.$/)
})

test('the routing preview shows candidates, order and prices in 80 columns', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { key } = await alice.key()
  for (const slug of ['openai-2', 'house'])
    await alice.post('/ai-gateway/provider-endpoints', {
      slug,
      name: slug,
      shape: 'openai-chat',
      base_url: 'https://models.example.com/v1',
      models: [{ id: 'gpt-4o', pricing: { input: 2.5, output: 10 }, context_length: 128_000 }],
      test: false,
    })
  const asked = async (more: Partial<Terminal>) => {
    const terminal = recorder({ env: { UK_KEY: key, UK_ORIGIN: server.origin }, ...more })
    assert.equal(await run(['ai-gateway', 'routing-preview', 'gpt-4o', '--seed', '1'], terminal), 0)
    return terminal.said.join('')
  }
  const shown = await asked({ interactive: true })
  assert.match(shown, /^ {2}provider  model            price\.input  price\.output  max cost usd$/m)
  for (const slug of ['openai-2', 'house'])
    assert.match(shown, new RegExp(`^ {2}${slug} +${slug}/gpt-4o +2\\.5 +10 +0\\.\\d+$`, 'm'))
  assert.match(shown, /^model +gpt-4o\nseed +1\ncandidates$/m, 'nothing is kept, so there is no id')
  assert.match(await asked({ interactive: true, columns: 110 }), /max cost usd  reason .*\n.*your own endpoint/)
  assert.match(await asked({}), /^id +\w{26}$/m, 'a pipe gets everything')
})

test('a list shows descriptive columns before references', async () => {
  const chats = list(await loadContracts()).find(({ name }) => name === 'chats.list')!
  const paths = columnsOf(chats).map(({ path }) => path)
  for (const plain of ['model', 'message_count', 'last_message_at'])
    for (const pointer of ['head_message_id', 'agent_id', 'title_source'])
      assert.ok(paths.indexOf(plain) < paths.indexOf(pointer), `${plain} before ${pointer}`)
})

test('a hint names the command without its arguments', async () => {
  const terminal = recorder()
  assert.equal(await run(['sign-up', 'me@example.com'], terminal), exits.usage[0])
  assert.ok(!terminal.told.join('\n').includes('uk sign-up me'), terminal.told.join('\n'))
})

test('words are parsed by the types of the contract', async () => {
  const files: Record<string, string> = { 'note.md': 'from a file\n', '-': 'from stdin\n' }
  const parse = async (verb: keyof typeof things.endpoints, ...words: string[]) =>
    (await parseArguments(words, fieldsOf(things.endpoints[verb]), async (from) => files[from] ?? assert.fail(from)))
      .input
  assert.deepEqual(await parse('create', 'a name'), { name: 'a name' })
  assert.deepEqual(await parse('create', '--name=x', '--note', '@note.md', '--no-loud'), {
    name: 'x',
    note: 'from a file\n',
    loud: false,
  })
  assert.deepEqual(await parse('create', 'x', '--note', '@@here', '--secret', '-'), {
    name: 'x',
    note: '@here',
    secret: 'from stdin',
  })
  assert.deepEqual(await parse('create', 'x', '--note', 'null'), { name: 'x', note: null })
  assert.deepEqual(await parse('create', 'x', '--options', '{"mark":"a"}', '--options', '{"mark":"b"}'), {
    name: 'x',
    options: [{ mark: 'a' }, { mark: 'b' }],
  })
  assert.deepEqual(await parse('create', 'x', '--extra', '{"deep":[1]}'), { name: 'x', extra: { deep: [1] } })
  assert.deepEqual(await parse('create', '--', '--x'), { name: '--x' })
  assert.deepEqual(await parse('list', '--tag', 'a', '--tag', 'b', '--limit', '5', '--exact'), {
    tag: ['a', 'b'],
    limit: 5,
    exact: true,
  })
  assert.deepEqual(await parse('list', '--tag', '["a","b"]'), { tag: ['a', 'b'] })
  assert.deepEqual(await parse('work', 'ID', '3'), { id: 'ID', hours: 3 })
  assert.deepEqual(await parse('work', 'ID', '--hours', '-3'), { id: 'ID', hours: -3 })
  const wrong = (verb: keyof typeof things.endpoints, ...words: string[]) =>
    assert.rejects(parse(verb, ...words), (error) => error instanceof Stop && error.exit === 'usage')
  await wrong('create')
  await wrong('create', 'x', 'y')
  await wrong('create', 'x', '--nonsense')
  await wrong('create', 'x', '--note')
  await wrong('create', 'x', '--secret', 'plain words')
  await wrong('create', 'x', '--extra', '{')
  await wrong('work', 'ID', 'three')
})

test('text from others cannot move the cursor', () => {
  assert.equal(clean('a\u001b[31mred\u001b[0m \u001b]0;title\u0007b\u009b2Jc\rd'), 'ared bcd')
  assert.ok(!table([{ id: '1', name: 'x\u001b[2Jy' }], recorder({ interactive: true })).includes('\u001b'))
})

test('tables fit the window and keep IDs whole', () => {
  const rows = [
    {
      note: 'n'.repeat(200),
      id: '01KAJ8R3T2M6QK5W9V0XBZC4DE',
      name: '日本語の名前',
      created_at: '2026-11-21T09:30:00.000Z',
    },
  ]
  for (const columns of [30, 60, 100]) {
    const lines = table(rows, recorder({ interactive: true, columns }))
      .trimEnd()
      .split('\n')
    for (const line of lines) assert.ok(widthOf(line) <= columns, line)
    assert.match(lines[1]!, /^01KAJ8R3T2M6QK5W9V0XBZC4DE/)
  }
  assert.equal(table(rows, recorder()).split('\n')[0], 'id\tname\tnote\tcreated_at')
  const [, told] = table(
    [{ name: 'a', note: 'What is a sentence may be cut' }],
    recorder({ interactive: true, columns: 24 }),
  ).split('\n')
  assert.equal(told, 'a     What is a sentenc…')
  assert.equal(fit('日本語', 5), '日本…')
})
